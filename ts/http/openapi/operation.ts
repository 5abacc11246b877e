/** The description of an endpoint, as far as its route does not have it. The schema of the body is the route's own. */
import type { ErrorCode } from '../../errors.js';
import type { JsonSchema } from '../../schemas/json-schema.js';

export interface Operation {
  id: string;
  tag: Tag;
  summary: string;
  description?: string;
  /** A name for the body's schema. */
  requestName?: string;
  /** Descriptions of fields that mean nothing, or something else, in other endpoints. */
  fields?: Readonly<Record<string, string>>;
  /** Of status 200. */
  reply: Reply;
  /** Named `{id}` in the path. */
  idDescription?: string;
  /** The schema of errors, where the endpoint has another envelope than all others. */
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
  /** A reply that was received; for a stream, one of its events. */
  reply?: unknown;
}
