/** Rules, hashing and verification of passwords. */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { invalidValue } from '../../errors.js';

export const MIN_PASSWORD_LENGTH = 12;
const MAX_PASSWORD_BYTES = 1024;

/** A hash takes 128 MiB and up to a second, so they run one at a time with a short queue. */
const MAX_WAITING = 16;

const HASH_BYTES = 32;

interface Cost {
  /** Base-2 logarithm of scrypt's N. */
  log2N: number;
  r: number;
  p: number;
}

const COST: Cost = { log2N: 17, r: 8, p: 1 };

/** @throws {ChasquiError} `invalid_value` */
export function checkPassword(password: string): void {
  const bytes = Buffer.byteLength(password);
  if ([...password].length >= MIN_PASSWORD_LENGTH && bytes <= MAX_PASSWORD_BYTES) return;
  const problem = bytes > MAX_PASSWORD_BYTES ? 'is too long' : `needs at least ${MIN_PASSWORD_LENGTH} characters`;
  throw invalidValue(`The password ${problem}. Use a sentence, for example.`, 'password');
}

export class TooManyPasswords extends Error {}

/** Methods throw `TooManyPasswords` while the queue is full. */
export class Passwords {
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** Returns `scrypt$17$8$1$<salt>$<hash>`, including the cost, so later hashes may cost more. */
  async hash(password: string): Promise<string> {
    checkPassword(password);
    const salt = randomBytes(16);
    const hash = await this.#derive(password, salt, COST);
    const { log2N, r, p } = COST;
    return ['scrypt', log2N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
  }

  /** Takes equally long for an unknown user (`null`). */
  async matches(password: string, stored: string | null): Promise<boolean> {
    if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) return false;
    const [kind, log2N, r, p, salt = '', hash = ''] = (stored ?? NO_PASSWORD).split('$');
    if (kind !== 'scrypt') throw new Error('unknown format of a stored password');
    const cost = { log2N: Number(log2N), r: Number(r), p: Number(p) };
    const derived = await this.#derive(password, Buffer.from(salt, 'base64url'), cost);
    const isEqual = timingSafeEqual(derived, Buffer.from(hash, 'base64url'));
    return stored !== null && isEqual;
  }

  #derive(password: string, salt: Buffer, { log2N, r, p }: Cost): Promise<Buffer> {
    if (this.#waiting >= MAX_WAITING) throw new TooManyPasswords('too many passwords are being checked');
    this.#waiting++;
    const N = 2 ** log2N;
    const options: ScryptOptions = { N, r, p, maxmem: 128 * r * (N + p) + 2 ** 20 };
    const derived = this.#last.then(
      () =>
        new Promise<Buffer>((resolve, reject) => {
          // Keyboards may send different code points for the same letters.
          scrypt(password.normalize('NFKC'), salt, HASH_BYTES, options, (error, hash) => {
            if (error) reject(error);
            else resolve(hash);
          });
        }),
    );
    this.#last = derived.catch(() => undefined).finally(() => this.#waiting--);
    return derived;
  }
}

/** Matches no password: its hash is zeros. */
const NO_PASSWORD = [
  'scrypt',
  ...Object.values(COST),
  Buffer.alloc(16).toString('base64url'),
  Buffer.alloc(HASH_BYTES).toString('base64url'),
].join('$');
