/** Errors of the hub, with what to do about them. */
import type { Dispatcher } from 'undici';
import { ChasquiError } from '../errors.js';

const DEFAULT_WAIT_SECONDS = 60;
/** The hub's rate limit windows are five minutes long. */
const MAX_WAIT_SECONDS = 600;

interface Asked {
  what: string;
  page?: string | undefined;
  hasToken: boolean;
}

type Refusal = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>;

/** Maps a reply with a status of 400 or more to an error. `text` is the beginning of its body. */
export function refusalOf(reply: Refusal, text: string, asked: Asked): ChasquiError {
  const { statusCode: status } = reply;
  const code = header(reply, 'x-error-code') ?? '';
  const said = shorten(header(reply, 'x-error-message') ?? messageIn(text));
  if (status === 429) return rateLimited(reply);
  if (status >= 500) {
    return new ChasquiError(
      'hub_failed',
      `The hub failed with status ${status} on a request for ${asked.what}${said}.`,
    );
  }
  if (code === 'GatedRepo') return gated(asked);
  if (code === 'EntryNotFound' || code === 'RevisionNotFound') {
    return new ChasquiError('hub_model_not_found', `The hub does not have ${asked.what}, or no longer.`, 'model');
  }
  if (/disabled/i.test(said)) {
    return new ChasquiError('hub_access_denied', `The hub has disabled ${asked.what}${said}.`, 'model');
  }
  if (status === 401) return unauthorised(said, asked);
  if (status === 403) {
    const why = asked.hasToken ? 'your token has no access to it' : 'set a token (HF_TOKEN)';
    return new ChasquiError('hub_access_denied', `Access to ${asked.what} denied${said}; ${why}.`, 'model');
  }
  if (status === 404 || status === 410) {
    return new ChasquiError('hub_model_not_found', `The hub has no ${bare(asked.what)}. Check the spelling.`, 'model');
  }
  return new ChasquiError('hub_failed', `The hub replied ${status} to a request for ${asked.what}${said}.`);
}

/** Without a token, the hub does not distinguish private from missing models. */
function unauthorised(said: string, { what, hasToken }: Asked): ChasquiError {
  if (hasToken) {
    return new ChasquiError(
      'hub_token_refused',
      `The hub rejected your token${said}. Create a new one in your account settings there and set it (HF_TOKEN).`,
    );
  }
  return new ChasquiError(
    'hub_model_not_found',
    `The hub has no ${bare(what)}, or it is private. Check the spelling, or set a token with access to it (HF_TOKEN).`,
    'model',
  );
}

function gated({ what, page, hasToken }: Asked): ChasquiError {
  const where = page === undefined ? 'on its page' : `at ${page}`;
  const how = hasToken
    ? `Your account has no access yet. Request it ${where} in a browser, and try again when it is granted.`
    : `Request access ${where} in a browser, and set a token of your account (HF_TOKEN).`;
  return new ChasquiError('hub_model_gated', `${capital(what)} requires approved access. ${how}`, 'model');
}

function rateLimited(reply: Refusal): ChasquiError {
  const seconds = waitOf(reply);
  const error = new ChasquiError(
    'hub_rate_limited',
    `The hub's rate limit is reached; it resets in ${seconds} seconds. Requests with a token (HF_TOKEN) have a limit of their own.`,
  );
  error.retryAfterSeconds = seconds;
  return error;
}

/** Seconds until the limit resets, from `RateLimit: "api";r=0;t=42` or `Retry-After`. */
function waitOf(reply: Refusal): number {
  const told = /(?:^|;)\s*t=(\d+)/.exec(header(reply, 'ratelimit') ?? '')?.[1] ?? header(reply, 'retry-after');
  const seconds = Number(told);
  if (!Number.isInteger(seconds) || seconds < 0) return DEFAULT_WAIT_SECONDS;
  return Math.min(Math.max(seconds, 1), MAX_WAIT_SECONDS);
}

/** No reply, or an incomplete one. Names only the host, because the path and query may contain a secret. */
export function unreachable(url: URL, what: string, cause: unknown): ChasquiError {
  const reason = reasonOf(cause);
  const text = `Could not fetch ${what} from ${url.host}: ${reason}${reason.endsWith('?') ? '' : '.'}`;
  return new ChasquiError('hub_unreachable', text, null, { cause });
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'unknown host; is this computer online?',
  EAI_AGAIN: 'DNS lookup failed; is this computer online?',
  ECONNREFUSED: 'connection refused',
  ENETUNREACH: 'network unreachable; is this computer online?',
  EHOSTUNREACH: 'host unreachable',
  ECONNRESET: 'connection reset',
  EMFILE: 'too many open files and connections in this process (ulimit -n)',
  ENFILE: 'too many open files and connections on this computer',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  UND_ERR_HEADERS_TIMEOUT: 'no reply in time',
  UND_ERR_BODY_TIMEOUT: 'the reply stalled',
};

function reasonOf(error: unknown): string {
  const { message, code, cause, errors } = error as NodeJS.ErrnoException & { errors?: unknown[] };
  const known = REASONS[code ?? ''];
  if (known !== undefined) return known;
  const deeper = errors?.[0] ?? cause;
  return deeper instanceof Error ? reasonOf(deeper) : message || code || 'unknown error';
}

function messageIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' ? error : '';
  } catch {
    return '';
  }
}

/** Text from the hub for messages: shortened, without control characters. */
function shorten(text: string): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').trim();
  return plain === '' ? '' : ` (${plain.slice(0, 200).replace(/\.$/, '')})`;
}

function header({ headers }: Refusal, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function bare(what: string): string {
  return what.replace(/^the /, '');
}
