/** The failures that an endpoint may reply with, from the catalogue: one response for each status. */
import { type CatalogueRow, ERRORS, type ErrorCode } from '../../errors.js';
import type { Profile } from '../../profiles/profile.js';
import { errorBodySchema } from '../error-body.js';
import type { Operation } from './operation.js';

/** Errors that every endpoint has. */
const OF_REQUESTS: readonly ErrorCode[] = [
  'bad_request',
  'unknown_url',
  'method_not_allowed',
  'too_many_open_files',
  'engine_closed',
  'internal_error',
];

/** Errors that every endpoint with a body has. */
const OF_BODIES: readonly ErrorCode[] = [
  'request_too_large',
  'request_timeout',
  'client_closed_request',
  'invalid_json',
  'missing_required_parameter',
  'invalid_type',
  'invalid_value',
  'unknown_parameter',
  'server_busy',
];

/** Errors that only some modes or some endpoints have. */
const OF_SOME: readonly ErrorCode[] = [
  'app_token_missing',
  'origin_not_allowed',
  'port_in_use',
  'chat_busy',
  'not_found',
  'store_failed',
  'response_not_found',
  'previous_response_not_found',
  'engine_stalled',
  'invalid_api_key',
  'key_store_failed',
  'host_not_allowed',
  'unsupported_media_type',
];

export const HUB_ERRORS: readonly ErrorCode[] = [
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
  'model_file_invalid',
  'no_space',
  'wrong_digest',
  'download_failed',
];

/** Errors that computing requests never have: they concern invalid connections, loading a model, and the hub. */
const NEVER: readonly ErrorCode[] = [
  ...HUB_ERRORS,
  'headers_too_large',
  'model_file_missing',
  'model_fetch_failed',
  'model_load_failed',
  'addon_missing',
  'backend_unavailable',
  'invalid_options',
  'download_not_found',
  'download_in_use',
  'model_exists',
  'local_model_not_found',
  'not_deletable',
  'fit_unknown',
];

const OF_CONVERSATIONS: readonly ErrorCode[] = [
  'image_not_supported',
  'too_many_images',
  'invalid_image_url',
  'invalid_image',
  'image_too_large',
  'image_download_failed',
  'audio_not_supported',
  'invalid_audio_url',
  'invalid_audio',
  'audio_too_large',
  'audio_download_failed',
  'template_failed',
];

/** Errors of an endpoint that computes with a model: all that are not listed above. */
export const MODEL_ERRORS: readonly ErrorCode[] = (Object.keys(ERRORS) as ErrorCode[]).filter(
  (code) => ![...OF_REQUESTS, ...OF_BODIES, ...OF_SOME, ...NEVER, ...OF_CONVERSATIONS].includes(code),
);

/** Errors of endpoints with messages, which a template renders and which may contain images. */
export const CONVERSATION_ERRORS: readonly ErrorCode[] = [...MODEL_ERRORS, ...OF_CONVERSATIONS];

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

function codesOf({ errors = [] }: Operation, profile: Profile, hasBody: boolean): ErrorCode[] {
  const codes: ErrorCode[] = [...OF_REQUESTS, ...errors];
  // A local server may require keys, too.
  codes.push('invalid_api_key');
  if (profile.authentication === 'key') codes.push('key_store_failed');
  if (profile.checksHostHeader) codes.push('host_not_allowed');
  if (hasBody) codes.push('unsupported_media_type');
  if (hasBody) codes.push(...OF_BODIES);
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
    headers: { 'retry-after': { description: 'Seconds until the client may retry.', schema: { type: 'integer' } } },
  };
}
