import { PAGE_KEY_ENTRY, PAGE_KEY_HEADER } from '../../page-key.js';
import { t } from './language.js';

/** Client of the management API. Every error is an `ApiError` with a displayable message. */

interface ErrorBody {
  error: { message: string; code: string | null; param: string | null };
}

export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    message: string,
    readonly code: string | null,
    readonly status: number,
    readonly param: string | null = null,
  ) {
    super(message);
  }
}

export async function call<Reply>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Reply> {
  const reply = await send(`/api/v1${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    ...(signal && { signal }),
  });
  return (reply.status === 204 ? undefined : await reply.json()) as Reply;
}

export const get = <Reply>(path: string, signal?: AbortSignal): Promise<Reply> =>
  call<Reply>('GET', path, undefined, signal);

export const post = <Reply>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<Reply> =>
  call<Reply>('POST', path, body, signal);

/** Sends a request. Throws on error replies and connection errors. */
export async function send(path: string, init: RequestInit): Promise<Response> {
  let reply: Response;
  try {
    reply = await fetch(path, withKey(init));
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(t('appUnreachable'), 'unreachable', 0);
  }
  if (reply.ok) return reply;
  throw await errorOf(reply);
}

/** Requests that change anything need the key, which the opening page has stored. */
function withKey(init: RequestInit): RequestInit {
  const key = localStorage.getItem(PAGE_KEY_ENTRY);
  if (key === null) return init;
  const headers = new Headers(init.headers);
  headers.set(PAGE_KEY_HEADER, key);
  return { ...init, headers };
}

async function errorOf(reply: Response): Promise<ApiError> {
  try {
    const { error } = (await reply.json()) as ErrorBody;
    return new ApiError(error.message, error.code, reply.status, error.param);
  } catch {
    return new ApiError(t('replyStatus', { status: String(reply.status) }), null, reply.status);
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Builds a query string of the defined values. */
export function query(values: Record<string, string | number | null | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}
