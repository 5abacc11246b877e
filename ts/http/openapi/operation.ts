/** How an endpoint is described: what its route does not know of itself. The schema of its body is the route's own. */
import type { ErrorCode } from '../../errors.js';
import type { JsonSchema } from '../../schemas/json-schema.js';

export interface Operation {
  id: string;
  tag: Tag;
  summary: string;
  description?: string;
  /** What a client may name the body's schema. */
  requestName?: string;
  /** Descriptions of fields that mean nothing, or something else, in other endpoints. */
  fields?: Readonly<Record<string, string>>;
  /** Of status 200. */
  reply: Reply;
  /** Named `{id}` in the path. */
  idDescription?: string;
  /** What the endpoint calls failures, where that is not the envelope of all others. */
  errorBody?: (types: readonly string[], codes: readonly string[]) => JsonSchema;
  /** Failures that no other endpoint has. */
  failures?: readonly ErrorCode[];
  examples: (model: string) => Record<string, Example>;
}

export type Tag = 'Chat' | 'Text' | 'Models' | 'Server';

export interface Reply {
  json?: NamedSchema;
  /** What one event of a stream holds. */
  event?: NamedSchema;
  text?: 'text/plain' | 'text/html';
}

export interface NamedSchema {
  name: string;
  schema: JsonSchema;
}

export interface Example {
  summary: string;
  /** A body; none for endpoints that take none. */
  request?: Record<string, unknown>;
  /** What came back, once. Of a stream, its events. */
  reply?: unknown;
}
