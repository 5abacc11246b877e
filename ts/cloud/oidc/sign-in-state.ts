/** State of a sign-in, derived from the secret of a cookie. The server stores nothing before a callback. */
import { createHash, createHmac } from 'node:crypto';
import { isSame } from '../accounts/secret.js';

const MAX_AGE_SECONDS = 600;

export interface SignInState {
  state: string;
  nonce: string;
  /** Of PKCE. */
  verifier: string;
}

export function newState(secret: string, next: string, now = Date.now() / 1000): SignInState {
  const signed = `${Math.floor(now)}.${Buffer.from(next).toString('base64url')}`;
  return { state: `${signed}.${derive(secret, signed)}`, ...secretsOf(secret) };
}

/** Returns the checks of a callback and the next page, or null if the state is of another browser or expired. */
export function readState(
  secret: string,
  state: string,
  now = Date.now() / 1000,
): (SignInState & { next: string }) | null {
  const [at = '', next = '', signature = ''] = state.split('.');
  if (!isSame(signature, derive(secret, `${at}.${next}`))) return null;
  const age = now - Number(at);
  if (!(age > -1 && age < MAX_AGE_SECONDS)) return null;
  return { state, next: Buffer.from(next, 'base64url').toString(), ...secretsOf(secret) };
}

export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

function secretsOf(secret: string) {
  return { nonce: derive(secret, 'nonce'), verifier: derive(secret, 'verifier') };
}

function derive(secret: string, purpose: string): string {
  return createHmac('sha256', secret).update(`chasqui oidc ${purpose}`).digest('base64url');
}
