/** The documentation of a route, except for the body's schema, which the route itself registers. */
import type { ErrorCode, ErrorType } from '../../errors.js';
import type { JsonSchema } from '../schema/json-schema.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Describes the route in the OpenAPI document, which omits routes without it. */
    operation?: Operation;
  }
}

export interface Operation {
  /** Names the operation in the document. The body's schema is named after it: `TokenizeRequest` of `tokenize`. */
  id: string;
  tag: Tag;
  summary: string;
  description?: string;
  /** Descriptions of path parameters: `{ id: 'The id of the model.' }` for `/v1/models/{id}`. */
  parameters?: Readonly<Record<string, string>>;
  /** The schema of a body that is `multipart/form-data`. */
  form?: JsonSchema;
  /** A name for the body's schema other than that of the operation. */
  requestName?: string;
  reply: Reply;
  /** The schema of errors, where the endpoint has another envelope than all others. */
  errorBody?: (types: readonly ErrorType[], codes: readonly ErrorCode[]) => JsonSchema;
  /** Errors beside those that every endpoint has, and those that every endpoint with a body has. See failures.ts. */
  errors?: readonly ErrorCode[];
  /** Requests that can be sent as they are, and replies to them; endpoints with a body have at least one. */
  examples?: (model: string) => Record<string, Example>;
}

/** The name of the schema of the body. */
export function requestNameOf({ id, requestName }: Operation): string {
  return requestName ?? `${id[0]?.toUpperCase()}${id.slice(1)}Request`;
}

/** The document lists operations by their tags, in this order. */
export const TAGS = ['Chat', 'Text', 'Models', 'Ollama', 'LM Studio', 'llama-server', 'Server'] as const;
export type Tag = (typeof TAGS)[number];

export interface Reply {
  /** Default 200. */
  status?: 204;
  json?: NamedSchema;
  event?: NamedSchema;
  line?: NamedSchema;
  text?: 'text/plain' | 'text/html' | 'application/octet-stream';
}

export interface NamedSchema {
  name: string;
  schema: JsonSchema;
}

export interface Example {
  summary: string;
  /** Absent for endpoints without a body. */
  request?: Readonly<Record<string, unknown>> | readonly unknown[];
  /** A reply that was received; for a stream, one of its events. */
  reply?: unknown;
}

/** The examples of an endpoint that completes: one request, for a whole reply and for a stream. */
export function completionExamples(
  summary: string,
  request: Readonly<Record<string, unknown>>,
  { reply, event }: { reply: unknown; event: unknown },
): Record<string, Example> {
  return {
    completion: { summary, request, reply },
    stream: { summary: 'The same as a stream', request: { ...request, stream: true }, reply: event },
  };
}
