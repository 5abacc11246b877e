/** Before validation: keeps the fields that the mode supports and names the others in a header, or refuses them. */
import { distance } from 'fastest-levenshtein';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError } from '../errors.js';
import type { Profile } from '../profiles/profile.js';
import { emptyBody } from './body/json-body.js';
import type { HttpContext } from './context.js';
import type { Operation } from './openapi/operation.js';
import type { JsonSchema } from './schema/json-schema.js';

/**
 * The names of the ignored fields, percent-encoded and separated by `, `. A probably misspelt name is followed by
 * `;did-you-mean=` and the suggested field.
 */
export const IGNORED_HEADER = 'x-chasqui-ignored';

/** `parameters` are the fields of the endpoint, `elsewhere` the fields that it has in other modes. */
export function readFields(
  profile: Profile,
  strict: boolean,
  parameters: readonly string[],
  elsewhere: readonly string[] = [],
) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (request.body === undefined) throw emptyBody();
    if (!isObject(request.body)) return;
    const sent = 'extra_body' in request.body ? withExtraBody(request.body) : request.body;
    const { body, ignored } = pickSupported(sent, parameters);
    request.body = body;
    if (ignored[0] === undefined) return;
    if (strict) throw unknownParameter(ignored[0], profile, parameters);
    reply.header(IGNORED_HEADER, toHeader(ignored, parameters, elsewhere));
  };
}

/** OpenAI's Python client merges `extra_body` into the body; callers of other clients send it as a field. */
function withExtraBody({ extra_body: extra, ...body }: Record<string, unknown>): Record<string, unknown> {
  if (isObject(extra)) return { ...extra, ...body };
  return extra === undefined ? body : { ...body, extra_body: extra };
}

/** Like `readFields`, for the fields of an object in the body. */
export function readInnerFields(profile: Profile, strict: boolean, field: string, parameters: readonly string[]) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const inner = isObject(request.body) ? request.body[field] : undefined;
    if (!isObject(request.body) || !isObject(inner)) return;
    const { body, ignored } = pickSupported(inner, parameters);
    request.body = { ...request.body, [field]: body };
    if (ignored[0] === undefined) return;
    if (strict) throw unknownParameter(ignored[0], profile, parameters, `${field}.`);
    nameIgnoredParts(
      reply,
      ignored.map((name) => `${field}.${name}`),
    );
  };
}

/** Limits of the number of ignored members in the header and of the length of each, because their paths are long. */
export const MAX_IGNORED_PARTS = 16;
const MAX_PART_LENGTH = 96;

/**
 * After validation: names unknown members of fields in the same header, or refuses them. `schema` is that of
 * the body.
 */
export function readParts(schema: JsonSchema, { mode }: Profile, strict: boolean) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const found: string[] = [];
    for (const part of unknownParts(request.body, schema)) {
      if (strict) throw unknownPart(part, mode);
      if (found.push(part) > MAX_IGNORED_PARTS) break;
    }
    nameIgnoredParts(reply, found);
  };
}

/** Adds ignored members to the header, beside the ignored fields. */
export function nameIgnoredParts(reply: FastifyReply, parts: readonly string[]): void {
  if (parts.length === 0) return;
  const shown: string[] = [reply.getHeader(IGNORED_HEADER) ?? []].flat().map(String);
  if (shown[0]?.endsWith('...')) return;
  let length = shown[0]?.length ?? 0;
  for (const [index, part] of parts.entries()) {
    const encoded = encodeURIComponent(part.slice(0, MAX_PART_LENGTH).toWellFormed());
    length += encoded.length;
    shown.push(index === MAX_IGNORED_PARTS || length > MAX_HEADER_LENGTH ? '...' : encoded);
    if (shown.at(-1) === '...') break;
  }
  reply.header(IGNORED_HEADER, shown.join(', '));
}

function isObject(body: unknown): body is Record<string, unknown> {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}

/** Clients refuse replies with long headers; Node's limit is 16 KiB. */
const MAX_NAMES = 32;
const MAX_NAME_LENGTH = 64;
const MAX_HEADER_LENGTH = 4000;

function toHeader(names: readonly string[], parameters: readonly string[], elsewhere: readonly string[]): string {
  let header = '';
  for (const [index, name] of names.entries()) {
    const meant = elsewhere.includes(name) ? null : nearestParameter(name, parameters);
    const encoded = encodeURIComponent(name.slice(0, MAX_NAME_LENGTH).toWellFormed());
    const shown = meant ? `${encoded};did-you-mean=${meant}` : encoded;
    if (index === MAX_NAMES || header.length + shown.length > MAX_HEADER_LENGTH) return `${header}, ...`;
    header += index === 0 ? shown : `, ${shown}`;
  }
  return header;
}

function unknownPart(part: string, mode: Profile['mode']): ChasquiError {
  const shown = part.slice(0, MAX_PART_LENGTH);
  return new ChasquiError('unknown_parameter', `\`${shown}\` is not a field that ${mode} mode knows.`, shown);
}

function unknownParameter(name: string, profile: Profile, parameters: readonly string[], within = ''): ChasquiError {
  const shown = within + name.slice(0, MAX_NAME_LENGTH);
  const nearest = nearestParameter(name, parameters);
  const advice = nearest ? ` Did you mean \`${nearest}\`?` : '';
  return new ChasquiError(
    'unknown_parameter',
    `\`${shown}\` is not a parameter that ${profile.mode} mode knows.${advice}`,
    shown,
  );
}

export interface SupportedFields {
  /** The body with supported fields only, and without those that are `null`: null means absent. */
  body: Record<string, unknown>;
  /** The names of the other fields, in the body's order; fields that are `null` are omitted. */
  ignored: string[];
}

export function pickSupported(sent: Readonly<Record<string, unknown>>, parameters: readonly string[]) {
  const known: ReadonlySet<string> = new Set(parameters);
  const picked: SupportedFields = { body: {}, ignored: [] };
  for (const [name, value] of Object.entries(sent)) {
    if (value === null) continue;
    if (known.has(name)) picked.body[name] = value;
    else picked.ignored.push(name);
  }
  return picked;
}

/** Names of the same fields in other modes, protocols and servers. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  repeat_penalty: ['repetition_penalty'],
  repetition_penalty: ['repeat_penalty'],
  max_tokens: ['max_output_tokens'],
  max_completion_tokens: ['max_output_tokens', 'max_tokens'],
  max_output_tokens: ['max_tokens'],
  max_new_tokens: ['max_tokens', 'max_output_tokens'],
  n_predict: ['max_tokens', 'max_output_tokens'],
  stop: ['stop_sequences'],
  stop_sequences: ['stop'],
  timings_per_token: ['timings'],
  messages: ['input'],
  input: ['messages'],
};

/** Returns the parameter most similar to `name`, or null if none is similar. */
export function nearestParameter(name: string, parameters: readonly string[]): string | null {
  // A body may have a field named `constructor`.
  const synonyms = Object.hasOwn(SYNONYMS, name) ? SYNONYMS[name] : undefined;
  const synonym = synonyms?.find((parameter) => parameters.includes(parameter));
  if (synonym) return synonym;
  if (name.length > 40) return null;
  let nearest: string | null = null;
  let smallest = Math.floor((name.length - 1) * 0.4) + 1;
  for (const parameter of parameters) {
    const edits = distance(name.toLowerCase(), parameter);
    if (edits < smallest) {
      smallest = edits;
      nearest = parameter;
    }
  }
  return nearest;
}

/**
 * Yields the paths of unknown members, such as `messages[0].colour`. The value must be valid. Members that are `null`
 * or empty lists are skipped, and so are objects without a closed list of properties in the schema.
 */
export function* unknownParts(value: unknown, schema: JsonSchema, path = ''): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (!isObject(schema.items)) return;
    for (const [index, item] of value.entries()) {
      // Prompts may be lists of a million tokens.
      if (typeof item === 'object') yield* unknownParts(item, schema.items, `${path}[${index}]`);
    }
    return;
  }
  const { properties, additionalProperties } = variantOf(value as Record<string, unknown>, schema);
  if (!isObject(properties) || additionalProperties !== undefined) return;
  for (const [name, member] of Object.entries(value)) {
    if (member === null || (Array.isArray(member) && member.length === 0)) continue;
    const at = path === '' ? name : `${path}.${name}`;
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (isObject(known)) yield* unknownParts(member, known, at);
    else yield at;
  }
}

function variantOf(value: Record<string, unknown>, schema: JsonSchema): JsonSchema {
  // A schema that also accepts a string has the schema of its objects in `else`.
  if (isObject(schema.else)) return variantOf(value, schema.else);
  const { discriminator, oneOf } = schema;
  if (!isObject(discriminator) || !Array.isArray(oneOf)) return schema;
  const tag = String(discriminator.propertyName);
  const meant = (oneOf as JsonSchema[]).find(({ properties }) => {
    const { const: only, enum: several } = (properties as Record<string, JsonSchema>)[tag] ?? {};
    return only === value[tag] || (Array.isArray(several) && several.includes(value[tag]));
  });
  if (meant === undefined) return {};
  const variant = variantOf(value, meant);
  return isObject(schema.properties) && isObject(variant.properties)
    ? { ...variant, properties: { ...schema.properties, ...variant.properties } }
    : variant;
}

/**
 * `schema` validates bodies; fields outside it are ignored or refused. `operation` documents the route in the OpenAPI
 * document.
 */
export function bodyRoute(
  { profile, options }: Pick<HttpContext, 'profile' | 'options'>,
  schema: JsonSchema & { properties: object },
  operation: Operation,
) {
  return {
    schema: { body: schema },
    config: { operation },
    preValidation: readFields(profile, options.strict, Object.keys(schema.properties)),
    preHandler: readParts(schema, profile, options.strict),
  };
}
