/** The failures that an endpoint may reply with, from the catalogue: one response for each status. */
import { type CatalogueRow, ERRORS, type ErrorCode } from '../../errors.js';
import type { Profile } from '../../profiles/profile.js';
import { errorBodySchema } from '../../schemas/error.js';
import type { Operation } from './operation.js';

/** Failures that have nothing to do with the body. */
const WITHOUT_BODY: ErrorCode[] = [
  'bad_request',
  'unknown_url',
  'method_not_allowed',
  'engine_closed',
  'internal_error',
];

/** Failures that only some modes or some endpoints have. */
const OF_SOME: ErrorCode[] = [
  'app_token_missing',
  'origin_not_allowed',
  'port_in_use',
  'not_found',
  'store_failed',
  'engine_stalled',
  'invalid_api_key',
  'key_store_failed',
  'host_not_allowed',
  'unsupported_media_type',
];

/** No request gets these: they are about connections that never become one, about loading a model, and about the hub. */
const NEVER: ErrorCode[] = [
  'headers_too_large',
  'model_file_missing',
  'model_fetch_failed',
  'model_file_invalid',
  'model_load_failed',
  'addon_missing',
  'backend_unavailable',
  'invalid_options',
  'invalid_model_name',
  'hub_model_not_found',
  'quantisation_not_found',
  'hub_model_gated',
  'hub_access_denied',
  'hub_token_refused',
  'hub_rate_limited',
  'hub_unreachable',
  'hub_failed',
  'architecture_unknown',
  'no_space',
  'wrong_digest',
  'download_failed',
  'download_not_found',
  'download_in_use',
  'local_model_not_found',
  'not_deletable',
  'fit_unknown',
];

const WITH_BODY = (Object.keys(ERRORS) as ErrorCode[]).filter(
  (code) => ![...WITHOUT_BODY, ...OF_SOME, ...NEVER].includes(code),
);

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

function codesOf({ idDescription, failures = [] }: Operation, profile: Profile, hasBody: boolean): ErrorCode[] {
  const codes = [...WITHOUT_BODY, ...failures];
  if (profile.authentication === 'key') codes.push('invalid_api_key', 'key_store_failed');
  if (profile.checksHostHeader) codes.push('host_not_allowed');
  if (hasBody && profile.demandsJsonContentType) codes.push('unsupported_media_type');
  if (hasBody) codes.push(...WITH_BODY);
  else if (idDescription !== undefined) codes.push('model_not_found');
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
