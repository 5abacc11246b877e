/** Converts `response_format` to `json_schema` of a text completion. */
import type { ResponseFormat } from '../chat/chat-schema.js';
import type { FieldOrigins } from '../chat/field-origins.js';
import { notTogether, schemaOfFormat } from '../chat/render-options.js';
import type { CompletionRequest } from './text-schema.js';

interface Formatted {
  body: CompletionRequest;
  /** Whether every keyword of the schema must be enforced. */
  isStrict: boolean;
}

/** Throws if the request has another constraint beside the format. */
export function readFormat(
  { response_format: format, ...body }: CompletionRequest & { response_format?: ResponseFormat },
  origins: FieldOrigins,
): Formatted {
  const found = schemaOfFormat(format);
  if (found === null) return { body, isStrict: false };
  const other = (['json_schema', 'grammar'] as const).find((name) => body[name] !== undefined);
  if (other !== undefined) throw notTogether(other, 'response_format');
  origins.set('json_schema', found.path);
  return { body: { ...body, json_schema: found.schema }, isStrict: format?.json_schema?.strict ?? false };
}
