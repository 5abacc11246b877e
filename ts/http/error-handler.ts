/** Converts any failure to OpenAI's error envelope and a status. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { type CatalogueRow, ChasquiError, ERRORS, type ErrorCode } from '../errors.js';
import { isOutOfFiles, outOfFiles } from '../process/open-files.js';
import type { ErrorBody } from './error-body.js';

/** Called with the thrown value for every error of the server itself. */
export type ServerErrorListener = (error: unknown, requestId: string) => void;

export interface ErrorReporting {
  /** Called with every error of the server itself. */
  onServerError: ServerErrorListener;
  /** Maps an option's name in errors (`imageHosts`) to its name for the caller. */
  optionNames: Readonly<Record<string, string>>;
}

/** A message or a field's path may quote megabytes of a request. */
const MAX_MESSAGE_LENGTH = 2000;
const MAX_PARAM_LENGTH = 500;

export function toErrorBody(error: ChasquiError): ErrorBody {
  const row: CatalogueRow = ERRORS[error.code];
  const param = fieldOfError(error);
  const shownParam = param === null ? null : shorten(param, MAX_PARAM_LENGTH);
  const { code, promptTokens, contextLength } = error;
  return {
    error: {
      message: shorten(toMessage(error), MAX_MESSAGE_LENGTH),
      type: row.type,
      param: shownParam,
      code,
      ...(promptTokens !== undefined && { n_prompt_tokens: promptTokens }),
      ...(contextLength !== undefined && { n_ctx: contextLength }),
    },
  };
}

/** LiteLLM and the agents on it recognise a prompt that is too long by these words of OpenAI only. */
function toMessage({ message, contextLength }: ChasquiError): string {
  if (contextLength === undefined) return message;
  return `This model's maximum context length is ${contextLength} tokens. ${message}`;
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/**
 * Converts a thrown value to the error for the client. Internal errors go to `onServerError` in full and to the client without details,
 * because their messages may contain local paths and details of libraries.
 */
export function toChasquiError(
  thrown: unknown,
  request: FastifyRequest,
  { onServerError, optionNames }: ErrorReporting,
): ChasquiError {
  const error = thrown instanceof ChasquiError ? thrown : fromFastify(thrown as FastifyError, request);
  // An invalid URL gets here before any hook has run.
  request.record?.failed(error.code);
  if (ERRORS[error.code].status !== 500) return error.withOptionNamed(optionNames);
  onServerError(thrown, request.id);
  const row: CatalogueRow = ERRORS[error.code];
  return new ChasquiError(error.code, `${row.meaning} The server's log says more, under request ${request.id}.`);
}

/** `toBody` converts the body for protocols with another envelope than OpenAI's. */
export function errorHandler(
  reporting: ErrorReporting,
  toBody: (body: ErrorBody, requestId: string) => object = (body) => body,
) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const error = toChasquiError(thrown, request, reporting);
    const row: CatalogueRow = ERRORS[error.code];
    const retryAfter = error.retryAfterSeconds ?? row.retryAfterSeconds;
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
    return reply
      .code(row.status)
      .header('x-request-id', request.id)
      .send(toBody(toErrorBody(error), request.id));
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
  if (isOutOfFiles(error)) return outOfFiles('The request could not be answered', error);
  return new ChasquiError('internal_error', error.message);
}

const FIELDS: Partial<Record<ErrorCode, string>> = {
  model_not_capable: 'model',
  template_failed: 'messages',
  context_length_exceeded: 'messages',
  invalid_grammar: 'grammar',
  prompt_refused: 'messages',
  invalid_job: 'messages',
};

export function fieldOfError({ code, param }: ChasquiError): string | null {
  return param ?? FIELDS[code] ?? null;
}
