/** Any failure → OpenAI's envelope and a status. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { fieldOfError } from '../chat/field-of-error.js';
import { type CatalogueRow, ChasquiError, ERRORS } from '../errors.js';
import type { ErrorBody } from '../schemas/error.js';

/** Told of every failure that is the server's own fault, with what was thrown. */
export type FaultListener = (fault: unknown, requestId: string) => void;

/** How errors are told. */
export interface ErrorTelling {
  /** Told of errors of the server itself. */
  onFault: FaultListener;
  /** Option, as errors name it (`imageHosts`) → what whoever started the server calls it. */
  optionNames: Readonly<Record<string, string>>;
}

/** What a message or a field's path quotes of a request may be megabytes long. */
const MAX_MESSAGE_LENGTH = 2000;
const MAX_PARAM_LENGTH = 500;

export function toErrorBody(error: ChasquiError): ErrorBody {
  const row: CatalogueRow = ERRORS[error.code];
  const param = fieldOfError(error);
  const shownParam = param === null ? null : shorten(param, MAX_PARAM_LENGTH);
  return {
    error: { message: shorten(error.message, MAX_MESSAGE_LENGTH), type: row.type, param: shownParam, code: error.code },
  };
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/**
 * What was thrown → what the caller is told. A fault of our own is told to `onFault` in full and to the caller in brief:
 * its message may hold paths of this machine, and what libraries say of their insides.
 */
export function toChasquiError(
  thrown: unknown,
  request: FastifyRequest,
  { onFault, optionNames }: ErrorTelling,
): ChasquiError {
  const error = thrown instanceof ChasquiError ? thrown : fromFastify(thrown as FastifyError, request);
  if (ERRORS[error.code].status !== 500) return error.withOptionNamed(optionNames);
  onFault(thrown, request.id);
  const row: CatalogueRow = ERRORS[error.code];
  return new ChasquiError(error.code, `${row.meaning} The server's log says more, under request ${request.id}.`);
}

/** `toBody` is for protocols whose envelope has more than OpenAI's. */
export function errorHandler(telling: ErrorTelling, toBody: (body: ErrorBody) => object = (body) => body) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const error = toChasquiError(thrown, request, telling);
    const row: CatalogueRow = ERRORS[error.code];
    const retryAfter = error.retryAfterSeconds ?? row.retryAfterSeconds;
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
    return reply
      .code(row.status)
      .header('x-request-id', request.id)
      .send(toBody(toErrorBody(error)));
  };
}

function fromFastify(error: FastifyError, request: FastifyRequest): ChasquiError {
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    const sent = request.headers['content-type'];
    return new ChasquiError(
      'unsupported_media_type',
      `Send the body with \`Content-Type: application/json\`; this one came ${sent ? `as \`${sent}\`` : 'without it'}.`,
    );
  }
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return new ChasquiError('bad_request', `${error.message}.`);
  }
  return new ChasquiError('internal_error', error.message);
}
