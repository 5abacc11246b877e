/** The failures that an endpoint may answer with, from the catalogue: one response for each status. */
import { type CatalogueRow, ERRORS, type ErrorCode } from '../../errors.js';
import type { Profile } from '../../profiles/profile.js';
import { errorBodySchema } from '../../schemas/error.js';
import type { Operation } from './operation.js';

/** Without those of loading a model, of logs only, and of connections that never become a request. */
const ALWAYS: ErrorCode[] = ['bad_request', 'unknown_url', 'method_not_allowed', 'engine_closed', 'internal_error'];

const WITH_MODEL_NAME: ErrorCode[] = ['model_not_found'];

const WITH_BODY: ErrorCode[] = [
  ...WITH_MODEL_NAME,
  'request_too_large',
  'invalid_json',
  'missing_required_parameter',
  'invalid_type',
  'invalid_value',
  'unknown_parameter',
  'unsupported_parameter',
  'image_not_supported',
  'template_failed',
  'context_length_exceeded',
  'invalid_job',
  'client_closed_request',
  'queue_full',
  'out_of_memory',
  'decode_failed',
];

export function failuresOf(operation: Operation, profile: Profile, hasBody: boolean): Record<string, object> {
  const responses: Record<string, object> = {};
  for (const [status, codes] of byStatus(codesOf(operation, profile, hasBody))) {
    const types = [...new Set(codes.map((code) => ERRORS[code].type))];
    const schema = (operation.errorBody ?? errorBodySchema)(types, codes);
    const description = codes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join('\n\n');
    responses[status] = { description, content: { 'application/json': { schema } }, ...headersOf(codes) };
  }
  return responses;
}

function codesOf({ idDescription }: Operation, profile: Profile, hasBody: boolean): ErrorCode[] {
  const codes = [...ALWAYS];
  if (profile.authentication === 'key') codes.push('invalid_api_key', 'key_store_failed');
  if (profile.checksHostHeader) codes.push('host_not_allowed');
  if (hasBody && profile.demandsJsonContentType) codes.push('unsupported_media_type');
  if (hasBody) codes.push(...WITH_BODY);
  else if (idDescription !== undefined) codes.push(...WITH_MODEL_NAME);
  return codes;
}

function byStatus(codes: readonly ErrorCode[]): Map<string, ErrorCode[]> {
  const found = new Map<string, ErrorCode[]>();
  for (const code of codes) {
    const status = String(ERRORS[code].status);
    found.set(status, [...(found.get(status) ?? []), code]);
  }
  return new Map([...found].sort(([one], [other]) => Number(one) - Number(other)));
}

function headersOf(codes: readonly ErrorCode[]): object {
  const rows: CatalogueRow[] = codes.map((code) => ERRORS[code]);
  if (!codes.includes('queue_full') && !rows.some(({ retryAfterSeconds }) => retryAfterSeconds !== undefined))
    return {};
  return {
    headers: { 'retry-after': { description: 'Seconds after which to try again.', schema: { type: 'integer' } } },
  };
}
