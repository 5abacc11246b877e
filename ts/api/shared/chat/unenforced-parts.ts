/** What a reply names in `x-chasqui-ignored`, because its completion does not obey it. */
import type { RenderedPrompt } from '../../../engine/engine.js';
import { unenforced } from '../json-schema/unenforced.js';
import type { ChatCompletionRequest } from './chat-schema.js';
import { toReasoningBudget, toReasoningTags } from './to-job.js';

/**
 * What a completion of this prompt does not obey: the parts of schemas that no grammar enforces, and a limit of reasoning
 * where reasoning cannot be told from the rest. At most `max`, and one more as a sign that there are more. Of a strict
 * schema that has passed the check, only such parts are left that `strict` allows.
 */
export function unenforcedParts(
  body: ChatCompletionRequest,
  rendered: Pick<RenderedPrompt, 'reasoning'>,
  max: number,
): string[] {
  const found: string[] = [];
  if (toReasoningTags(body, rendered) === null) found.push(...reasoningLimitsOf(body));
  for (const [schema, path] of schemasOf(body)) {
    found.push(...unenforcedOf(schema, path, max - found.length));
    if (found.length > max) return found;
  }
  return found;
}

/** The same of one schema, which is at this path. */
export function unenforcedOf(schema: object, path: string, max: number): string[] {
  const found: string[] = [];
  for (const part of unenforced(schema, path)) {
    found.push(part);
    if (found.length > max) return found;
  }
  return found;
}

function reasoningLimitsOf(body: ChatCompletionRequest): string[] {
  const fields = ['reasoning_budget_tokens', 'thinking_budget_tokens'] as const;
  return fields.filter((field) => toReasoningBudget({ [field]: body[field] }) !== null);
}

function* schemasOf(body: ChatCompletionRequest): Generator<[object, string]> {
  const { tools, tool_choice: choice, response_format: format, json_schema: schema } = body;
  if (format?.json_schema?.schema) yield [format.json_schema.schema, 'response_format.json_schema.schema'];
  if (format?.schema) yield [format.schema, 'response_format.schema'];
  if (schema) yield [schema, 'json_schema'];
  if (choice === 'none') return;
  for (const [index, { function: tool }] of (tools ?? []).entries()) {
    if (tool.parameters) yield [tool.parameters, `tools[${index}].function.parameters`];
  }
}
