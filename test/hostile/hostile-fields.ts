/**
 * Bodies that are right but for one field, for every endpoint of the OpenAPI document: what an example of it has, some of
 * the fields that its schema knows beside that, and one of all these hostile.
 */
import type { OpenApiDocument } from '../../ts/http/openapi/document.js';
import type { JsonSchema } from '../../ts/http/schema/json-schema.js';
import { pick, type Random, randomValue } from '../property/random-values.js';
import { HOSTILE_TEXTS } from './hostile-texts.js';

export interface HostileBody {
  path: string;
  /** Location and start of the hostile value. */
  about: string;
  /** JSON, or nearly. */
  text: string;
}

type Body = Record<string, unknown> | unknown[];
type Place = readonly [container: Record<string, unknown>, key: string, path: string];

interface JsonContent {
  schema: object;
  examples: Record<string, { value: Body }>;
}

interface Endpoint {
  path: string;
  schema: JsonSchema;
  examples: Body[];
}

/** Long completions find nothing that short ones do not. */
const LIMITS = { max_tokens: 4, max_completion_tokens: 4, max_output_tokens: 4, n_predict: 4, num_predict: 4 };
/** With `force` it ends what others have asked for, which is what it is for. */
const NOT_SENT = '/models/unload';
const MARK = '\u0000here';
/** Share of the inserted values with the expected type. */
const SHARE_OF_SAME_TYPE = 0.8;

export class HostileBodies {
  readonly #endpoints: readonly Endpoint[];

  constructor(document: OpenApiDocument) {
    this.#endpoints = Object.entries(document.paths).flatMap(([path, { post }]) => {
      const body = post?.requestBody as { content?: Record<string, JsonContent> } | undefined;
      const content = body?.content?.['application/json'];
      if (content === undefined || path === NOT_SENT) return [];
      const name = JSON.stringify(content.schema).match(/#\/components\/schemas\/(\w+)/)?.[1] ?? '';
      const examples = Object.values(content.examples).map(({ value }) => value);
      return [{ path, schema: document.components.schemas[name] as JsonSchema, examples }];
    });
  }

  get paths(): string[] {
    return this.#endpoints.map(({ path }) => path);
  }

  next(random: Random): HostileBody {
    const { path, schema, examples } = pick(random, this.#endpoints);
    const body = complete(random, structuredClone(pick(random, examples)), schema);
    const places = placesIn(body);
    if (places.length === 0) return { path, about: 'all of it', text: pick(random, HOSTILE_TEXTS.array ?? []) };
    // Half of them are in the body itself, because most places are somewhere within what was drawn.
    const outer = places.filter(([container]) => container === body);
    const [container, key, at] = pick(random, random() < 0.5 ? outer : places);
    const hostile = hostileText(random, container[key]);
    if (random() < 0.1) return { path, about: `${at} twice`, text: withKeyTwice(body, key, hostile) };
    container[key] = MARK;
    const text = JSON.stringify(body).replace(JSON.stringify(MARK), () => hostile);
    return { path, about: `${at} = ${hostile.slice(0, 60)}`, text };
  }
}

function complete(random: Random, body: Body, schema: JsonSchema): Body {
  if (Array.isArray(body)) return body;
  const drawn = randomValue(random, schema) as Record<string, unknown>;
  const all: Record<string, unknown> = { ...drawn, ...body };
  for (const [name, limit] of Object.entries(LIMITS)) {
    if (name in Object(schema.properties)) all[name] = limit;
    if (name in Object(all.options)) (all.options as Record<string, unknown>)[name] = limit;
  }
  return all;
}

function placesIn(value: unknown, path = ''): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const container = value as Record<string, unknown>;
  return Object.keys(container).flatMap((key) => {
    const at = path === '' ? key : `${path}.${key}`;
    return [[container, key, at] as const, ...placesIn(container[key], at)];
  });
}

function hostileText(random: Random, instead: unknown): string {
  const kind = instead === null ? 'null' : Array.isArray(instead) ? 'array' : typeof instead;
  const same = HOSTILE_TEXTS[kind] ?? [];
  return pick(random, random() < SHARE_OF_SAME_TYPE ? same : pick(random, Object.values(HOSTILE_TEXTS)));
}

/** The last of them counts. */
function withKeyTwice(body: Body, key: string, hostile: string): string {
  const text = JSON.stringify(body);
  return text.startsWith('{') ? `{${JSON.stringify(key)}:${hostile},${text.slice(1)}` : text;
}
