/** Replies that were sent, against the OpenAPI document of the mode that sent them. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { ollamaErrorSchema } from '../../ts/api/ollama/schema.js';
import { anthropicErrorSchema } from '../../ts/api/shared/anthropic-error-schema.js';
import { ERRORS, type ErrorCode } from '../../ts/errors.js';
import { errorBodySchema } from '../../ts/http/error-body.js';
import type { OpenApiDocument } from '../../ts/http/openapi/document.js';

/** A line of what test/support/record-replies.mjs writes. */
export interface RecordedReply {
  method: string;
  url: string;
  status: number;
  type: string;
  /** False when the client left, or the server ended, before it was. */
  complete: boolean;
  body: string;
}

const OLLAMA_ERROR = ollamaErrorSchema();

type Schema = Record<string, unknown>;
type Responses = Record<string, { content?: Record<string, { schema: Schema }> }>;

export class ReplyCheck {
  /** Events of streams that were looked at. */
  events = 0;
  readonly #document: OpenApiDocument;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #compiled = new Map<Schema, ValidateFunction>();
  /** By kind and status: a validator is found by the identity of its schema. */
  readonly #failureSchemas = new Map<string, Schema>();
  readonly #patterns: readonly (readonly [path: string, pattern: RegExp])[];

  constructor(document: OpenApiDocument) {
    this.#document = document;
    // An id may hold slashes: `/chats/{id}` fits what `/chats/{id}/messages` fits.
    const paths = Object.keys(document.paths).sort((a, b) => b.length - a.length);
    this.#patterns = paths.map((path) => [path, toPattern(path)]);
    this.#ajv.addSchema({ $id: 'openapi', components: closed(document.components) });
  }

  /** What is wrong with a reply; null when it is as documented. */
  problemWith(reply: RecordedReply): string | null {
    if (reply.method === 'HEAD' || reply.method === 'OPTIONS') return null;
    const responses = this.#responsesOf(reply);
    if (!responses || reply.status === 405) return this.#problemWithFailure(reply);
    const response = responses[reply.status] ?? (reply.status >= 400 ? responses.default : undefined);
    if (!response) return `status ${reply.status} is not documented`;
    if (reply.body === '' && Object.keys(response.content ?? {}).length === 0) return null;
    const type = reply.type.split(';')[0] as string;
    const content = response.content?.[type];
    if (!content) return `${type} is not documented for status ${reply.status}`;
    if (type === 'text/event-stream') return this.#problemWithStream(reply, content.schema, responses);
    if (type === 'application/x-ndjson') return this.#problemWithLines(reply, content.schema, responses);
    if (type !== 'application/json' || !reply.complete) return null;
    return this.#problem(content.schema, JSON.parse(reply.body));
  }

  #responsesOf({ method, url }: RecordedReply): Responses | undefined {
    const { paths, servers } = this.#document;
    const base = servers[0]?.url === '/' ? '' : (servers[0]?.url ?? '');
    const path = (url.split('?')[0] as string).replace(/\/{2,}/g, '/');
    if (!path.startsWith(base)) return undefined;
    const below = path.slice(base.length).replace(/(.)\/$/, '$1') || '/';
    const [known = ''] = this.#patterns.find(([, pattern]) => pattern.test(below)) ?? [];
    return paths[known]?.[method.toLowerCase()]?.responses as Responses | undefined;
  }

  /** Problems of a reply of an unknown path. */
  #problemWithFailure({ url, status, complete, body }: RecordedReply): string | null {
    const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => ERRORS[code].status === status);
    if (codes.length === 0) return `status ${status} is not in the catalogue`;
    if (!complete) return null;
    const types = codes.map((code) => ERRORS[code].type);
    if (!body.startsWith('{')) return 'it is not an error';
    if (status === 404 && !this.#isOllamas(url)) {
      return this.#problem(this.#document.components.schemas.UnknownPath as Schema, JSON.parse(body));
    }
    if (this.#isOllamas(url)) return this.#problem(OLLAMA_ERROR, JSON.parse(body));
    const isAnthropics = this.#isAnthropics(url);
    const key = `${isAnthropics} ${status}`;
    const schema =
      this.#failureSchemas.get(key) ?? (isAnthropics ? anthropicErrorSchema : errorBodySchema)(types, codes);
    this.#failureSchemas.set(key, schema);
    return this.#problem(schema, JSON.parse(body));
  }

  #isAnthropics(url: string): boolean {
    return /\/v1\/messages(\/|\?|$)/.test(url);
  }

  /** Whether clients of Ollama would look there. LM Studio's endpoints begin with a version. */
  #isOllamas(url: string): boolean {
    return '/api/chat' in this.#document.paths && /^\/+api\/(?!v\d)/.test(url);
  }

  #problemWithStream({ body, complete }: RecordedReply, schema: Schema, responses: Responses): string | null {
    const frames = body.split('\n\n');
    const rest = frames.pop();
    if (complete && rest !== '') return `the last frame is not complete: ${rest}`;
    for (const frame of frames) {
      const data = dataOf(frame);
      if (data === null || data === '[DONE]') continue;
      this.events += 1;
      const event = JSON.parse(data);
      const problem = this.#problem(schema, event);
      if (problem && !(event.error && this.#isFailure(event, responses))) return `${problem}, in the event ${data}`;
    }
    return null;
  }

  #problemWithLines({ body, complete }: RecordedReply, schema: Schema, responses: Responses): string | null {
    const lines = body.split('\n');
    const rest = lines.pop();
    if (complete && rest?.trim() !== '') return `the last line is not complete: ${rest}`;
    for (const line of lines) {
      this.events += 1;
      const value = JSON.parse(line);
      const problem = this.#problem(schema, value);
      if (problem && !(value.error && this.#isFailure(value, responses))) return `${problem}, in the line ${line}`;
    }
    return null;
  }

  #isFailure(event: unknown, responses: Responses): boolean {
    const failures = Object.entries(responses).filter(([status]) => status !== '200');
    return failures.some(([, { content }]) => {
      const schema = content?.['application/json']?.schema;
      return schema !== undefined && this.#problem(schema, event) === null;
    });
  }

  #problem(schema: Schema, value: unknown): string | null {
    let validate = this.#compiled.get(schema);
    if (!validate) {
      validate = this.#ajv.compile(closed(inDocument(schema)) as Schema);
      this.#compiled.set(schema, validate);
    }
    return validate(value) ? null : this.#ajv.errorsText(validate.errors, { dataVar: 'the body' });
  }
}

function toPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '.+')}$`);
}

function dataOf(frame: string): string | null {
  const lines = frame.split('\n').filter((line) => line.startsWith('data: '));
  return lines.length === 0 ? null : lines.map((line) => line.slice('data: '.length)).join('\n');
}

function inDocument(schema: Schema): Schema {
  return typeof schema.$ref === 'string' ? { $ref: `openapi${schema.$ref}` } : schema;
}

/** A property that the document does not know is a fault here, though clients must expect new ones. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  if (!isObjectSchema(schema) || 'additionalProperties' in schema) return inner;
  return { ...inner, additionalProperties: false };
}

function isObjectSchema(schema: object): boolean {
  return 'type' in schema && [schema.type].flat().includes('object') && 'properties' in schema;
}
