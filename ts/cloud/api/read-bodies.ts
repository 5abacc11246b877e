/** Parses bodies and queries of the management API. Errors name the field. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { invalidValue } from '../../errors.js';
import { toValidationError } from '../../http/validation-error.js';
import { FAST_SCHEMAS } from '../../options/fast-schemas.js';
import { MAX_ADAPTERS } from '../../options/model-option-table.js';
import type { Deployment, LogCursor } from '../apps/control.js';
import { MAX_MODELS } from '../script/manifest.js';

const ajv = new Ajv({ ...FAST_SCHEMAS, verbose: true });

/** Per model: the model, its projector, its draft model and its adapters. */
const MAX_FILES = MAX_MODELS * (3 + MAX_ADAPTERS);

const MARK = {
  type: 'object',
  additionalProperties: false,
  required: ['size', 'sha256'],
  properties: { size: { type: 'integer', minimum: 0 }, sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' } },
};

const checkDeployment = ajv.compile<{
  options: Deployment['options'];
  files?: Deployment['files'];
  message?: string;
  strategy?: Deployment['strategy'];
}>({
  type: 'object',
  required: ['options'],
  properties: {
    options: { type: 'object' },
    files: { type: 'object', maxProperties: MAX_FILES, additionalProperties: MARK },
    message: { type: 'string', maxLength: 1000 },
    strategy: { enum: ['rolling', 'recreate'] },
  },
});

const checkScale = ajv.compile<{ min: number; max: number }>({
  type: 'object',
  required: ['min', 'max'],
  properties: { min: { type: 'integer' }, max: { type: 'integer' } },
});

const checkRollback = ajv.compile<{ revision?: number }>({
  type: 'object',
  properties: { revision: { type: 'integer', minimum: 1, maximum: 2 ** 31 } },
});

/** The maximum that every environment accepts. */
const checkSecret = ajv.compile<{ value: string }>({
  type: 'object',
  required: ['value'],
  properties: { value: { type: 'string', minLength: 1, maxLength: 32_768, pattern: '^[^\\u0000]*$' } },
});

export function readDeployment(body: unknown): Deployment {
  const { options, files = {}, message = null, strategy = 'rolling' } = checked(checkDeployment, body);
  return { options, files, message, strategy };
}

/** Returns null for the scale of the script. */
export function readScale(body: unknown): { min: number; max: number } | null {
  if (body === undefined || body === null) return null;
  return checked(checkScale, body);
}

export function readRollback(body: unknown): number | null {
  return checked(checkRollback, body ?? {}).revision ?? null;
}

export function readSecret(body: unknown): string {
  return checked(checkSecret, body).value;
}

export function readCount(query: unknown, name: string, otherwise: number, max: number): number {
  const text = (query as Record<string, unknown>)[name];
  if (text === undefined) return otherwise;
  const value = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= max) return value;
  throw invalidValue(`\`${name}\` must be a whole number from 0 to ${max}.`, name);
}

export function readCursor(query: unknown): LogCursor | null {
  const { cursor } = query as { cursor?: unknown };
  if (cursor === undefined) return null;
  try {
    const parsed: unknown = JSON.parse(String(cursor));
    const offsets = Object.entries(parsed as object);
    if (offsets.every(([, offset]) => Number.isSafeInteger(offset) && offset >= 0)) return Object.fromEntries(offsets);
  } catch {
    // Falls through to the error.
  }
  throw invalidValue('`cursor` must be the cursor of an earlier reply.', 'cursor');
}

function checked<T>(check: ValidateFunction<T>, body: unknown): T {
  if (check(body)) return body;
  throw toValidationError((check.errors as ErrorObject[])[0] as ErrorObject);
}
