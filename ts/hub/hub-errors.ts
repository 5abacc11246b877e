/** Why a hub did not give what was asked for, and what can be done about it. */
import type { Dispatcher } from 'undici';
import { ChasquiError } from '../errors.js';

const DEFAULT_WAIT_SECONDS = 60;
/** The hub counts in windows of five minutes. */
const MAX_WAIT_SECONDS = 600;

interface Asked {
  what: string;
  page?: string | undefined;
  hasToken: boolean;
}

type Refusal = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>;

/** The error that a reply with a status from 400 on is. `text` is the beginning of its body. */
export function refusalOf(reply: Refusal, text: string, asked: Asked): ChasquiError {
  const { statusCode: status } = reply;
  const code = header(reply, 'x-error-code') ?? '';
  const said = shorten(header(reply, 'x-error-message') ?? messageIn(text));
  if (status === 429) return rateLimited(reply);
  if (status >= 500) {
    return new ChasquiError('hub_failed', `The hub failed with status ${status} when asked for ${asked.what}${said}.`);
  }
  if (code === 'GatedRepo') return gated(asked);
  if (code === 'EntryNotFound' || code === 'RevisionNotFound') {
    return new ChasquiError('hub_model_not_found', `The hub does not have ${asked.what} (any more).`, 'model');
  }
  if (/disabled/i.test(said)) {
    return new ChasquiError('hub_access_denied', `The hub has disabled ${asked.what}${said}.`, 'model');
  }
  if (status === 401) return unauthorised(said, asked);
  if (status === 403) {
    const why = asked.hasToken
      ? 'and your token does not open it: use one that may read it'
      : 'give a token (HF_TOKEN)';
    return new ChasquiError('hub_access_denied', `Access to ${asked.what} is not allowed${said}; ${why}.`, 'model');
  }
  if (status === 404 || status === 410) {
    return new ChasquiError(
      'hub_model_not_found',
      `The hub has no ${bare(asked.what)}; check how it is spelt.`,
      'model',
    );
  }
  return new ChasquiError('hub_failed', `The hub replied ${status} when asked for ${asked.what}${said}.`);
}

/** A hub does not tell those without a token whether a model is private or not there at all. */
function unauthorised(said: string, { what, hasToken }: Asked): ChasquiError {
  if (hasToken) {
    return new ChasquiError(
      'hub_token_refused',
      `The hub refuses your token${said}. Make a new one in your account's settings there, and give it (HF_TOKEN).`,
    );
  }
  return new ChasquiError(
    'hub_model_not_found',
    `The hub has no ${bare(what)}, or it is private: check how it is spelt, or give a token that may read it (HF_TOKEN).`,
    'model',
  );
}

function gated({ what, page, hasToken }: Asked): ChasquiError {
  const where = page === undefined ? 'on its page' : `at ${page}`;
  const how = hasToken
    ? `Your account has no access yet: ask for it ${where}, in a browser, and try again when it is granted.`
    : `Ask for access ${where}, in a browser, and then give a token of your account (HF_TOKEN).`;
  return new ChasquiError(
    'hub_model_gated',
    `${capital(what)} is given only to those whose access is granted. ${how}`,
    'model',
  );
}

function rateLimited(reply: Refusal): ChasquiError {
  const seconds = waitOf(reply);
  const error = new ChasquiError(
    'hub_rate_limited',
    `The hub takes no more requests from here for ${seconds} seconds. A token (HF_TOKEN) has a limit of its own.`,
  );
  error.retryAfterSeconds = seconds;
  return error;
}

/** As told by `RateLimit: "api";r=0;t=42` or by `Retry-After`. */
function waitOf(reply: Refusal): number {
  const told = /(?:^|;)\s*t=(\d+)/.exec(header(reply, 'ratelimit') ?? '')?.[1] ?? header(reply, 'retry-after');
  const seconds = Number(told);
  if (!Number.isInteger(seconds) || seconds < 0) return DEFAULT_WAIT_SECONDS;
  return Math.min(Math.max(seconds, 1), MAX_WAIT_SECONDS);
}

/** No reply came, or it broke off. The path and query of an address may hold a secret, so only its host is named. */
export function unreachable(url: URL, what: string, cause: unknown): ChasquiError {
  const reason = reasonOf(cause);
  const text = `${capital(what)} could not be had from ${url.host}: ${reason}${reason.endsWith('?') ? '' : '.'}`;
  return new ChasquiError('hub_unreachable', text, null, { cause });
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its name is not known; is this computer online?',
  EAI_AGAIN: 'its name cannot be looked up; is this computer online?',
  ECONNREFUSED: 'nothing listens there',
  ENETUNREACH: 'the network cannot be reached; is this computer online?',
  EHOSTUNREACH: 'it cannot be reached',
  ECONNRESET: 'the connection broke off',
  EMFILE: 'this program has as many files and connections open as it may (ulimit -n)',
  ENFILE: 'this computer has as many files and connections open as it may',
  UND_ERR_SOCKET: 'the connection broke off',
  UND_ERR_CONNECT_TIMEOUT: 'it did not take the connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'it did not reply in time',
  UND_ERR_BODY_TIMEOUT: 'it stopped sending',
};

function reasonOf(error: unknown): string {
  const { message, code, cause, errors } = error as NodeJS.ErrnoException & { errors?: unknown[] };
  const known = REASONS[code ?? ''];
  if (known !== undefined) return known;
  const deeper = errors?.[0] ?? cause;
  return deeper instanceof Error ? reasonOf(deeper) : message || code || 'it failed';
}

function messageIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' ? error : '';
  } catch {
    return '';
  }
}

/** Others wrote it, so it is short and has nothing that could control a terminal. */
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
