/** Before validation: keeps the fields that the mode supports and names the others in a header, or refuses them. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError } from '../errors.js';
import type { Profile } from '../profiles/profile.js';
import { emptyBody } from './body/json-body.js';
import type { JsonSchema } from './schema/json-schema.js';
import { unknownParts } from './schema/unknown-parts.js';
import { nearestParameter, pickSupported } from './supported-fields.js';

/**
 * The names of the ignored fields, percent-encoded and separated by `, `. A name that no mode knows and that looks like
 * a misspelt one is followed by `;did-you-mean=` and the name of the field that was meant.
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
    const { body, ignored } = pickSupported(request.body, parameters);
    request.body = body;
    if (ignored[0] === undefined) return;
    if (strict) throw unknownParameter(ignored[0], profile, parameters);
    reply.header(IGNORED_HEADER, toHeader(ignored, parameters, elsewhere));
  };
}

/** The same for the fields of an object in the body, of which each endpoint that has one takes these. */
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

/** How many ignored parts of fields are named, and how much of each name, because these names are long. */
export const MAX_IGNORED_PARTS = 16;
const MAX_PART_LENGTH = 96;

/**
 * After validation: names what is within fields and not known there, in the same header, or refuses it. `schema` is that of
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

/** Adds ignored parts of fields to the header, beside the ignored fields. */
export function nameIgnoredParts(reply: FastifyReply, parts: readonly string[]): void {
  if (parts.length === 0) return;
  const shown: string[] = [reply.getHeader(IGNORED_HEADER) ?? []].flat().map(String);
  if (shown[0]?.endsWith('...')) return;
  let length = shown[0]?.length ?? 0;
  for (const [index, part] of parts.entries()) {
    const encoded = encodeURIComponent(wellFormed(part.slice(0, MAX_PART_LENGTH)));
    length += encoded.length;
    shown.push(index === MAX_IGNORED_PARTS || length > MAX_HEADER_LENGTH ? '...' : encoded);
    if (shown.at(-1) === '...') break;
  }
  reply.header(IGNORED_HEADER, shown.join(', '));
}

function isObject(body: unknown): body is Record<string, unknown> {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}

/** Clients refuse replies whose headers are too long; Node's limit is 16 KiB. */
const MAX_NAMES = 32;
const MAX_NAME_LENGTH = 64;
const MAX_HEADER_LENGTH = 4000;

function toHeader(names: readonly string[], parameters: readonly string[], elsewhere: readonly string[]): string {
  let header = '';
  for (const [index, name] of names.entries()) {
    const meant = elsewhere.includes(name) ? null : nearestParameter(name, parameters);
    const encoded = encodeURIComponent(wellFormed(name.slice(0, MAX_NAME_LENGTH)));
    const shown = meant ? `${encoded};did-you-mean=${meant}` : encoded;
    if (index === MAX_NAMES || header.length + shown.length > MAX_HEADER_LENGTH) return `${header}, ...`;
    header += index === 0 ? shown : `, ${shown}`;
  }
  return header;
}

/** Half of a surrogate pair cannot be percent-encoded. */
function wellFormed(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
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
