/** Errors of llama-server's own completion endpoints: its clients find a prompt that is too long by the type. */
import type { ErrorType } from '../../errors.js';
import { type ErrorBody, errorBodySchema } from '../../http/error-body.js';
import type { Operation } from '../../http/openapi/operation.js';
import type { SseEvent } from '../../http/sse.js';

const TOO_LONG = 'exceed_context_size_error';

/** Clients of llama-server also recognise the words of its message. */
export function toNativeError({ error }: ErrorBody): object {
  if (error.code !== 'context_length_exceeded') return { error };
  const message = `The request exceeds the available context size. ${error.message}`;
  return { error: { ...error, message, type: TOO_LONG } };
}

/** The last event of a stream that fails. */
export function nativeFailure(body: ErrorBody): readonly SseEvent[] {
  return [JSON.stringify(toNativeError(body))];
}

export const nativeErrorSchema: NonNullable<Operation['errorBody']> = (types, codes) => {
  const own = codes.includes('context_length_exceeded') ? [TOO_LONG as ErrorType] : [];
  return errorBodySchema([...types, ...own], codes);
};
