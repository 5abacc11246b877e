/** The address of a running server, and requests to it. */

import { ownCall } from '../own-call.js';
import { runtime } from '../profiles/runtime.js';
import { CommandFailed, EXIT } from './errors/exit-codes.js';

export const DEFAULT_URL = `http://127.0.0.1:${runtime.port}`;
const TIMEOUT_MS = 30_000;

/** Accepts `localhost:8080`, and the base URL with `/v1` that `chasqui serve` prints. Returns it without `/v1`. */
export function serverAddress(given: string): string {
  const url = /^[a-z][a-z\d+.-]*:\/\//i.test(given) ? given : `http://${given}`;
  if (!URL.canParse(url)) {
    throw new CommandFailed(EXIT.usage, `${given} is not an address of a server; one is ${DEFAULT_URL}`);
  }
  return url.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/** @throws {CommandFailed} with exit code 3 if there is no reply within 30 s */
export async function askServer(address: string, path: string, request: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(address + path, { ...request, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    const { cause, message } = error as { cause?: Error; message: string };
    const reason = cause?.message === 'bad port' ? 'fetch and browsers refuse this port' : cause?.message || message;
    const advice = `start one with ${ownCall()} serve, or give its address with --url`;
    throw new CommandFailed(EXIT.unreachable, `no server could be reached at ${address}: ${reason}; ${advice}`);
  }
}
