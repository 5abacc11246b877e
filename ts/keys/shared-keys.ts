/**
 * API keys that an operator chose for a server. All have the same rights and no ids, so a key is compared with each of
 * them.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { type ChasquiError, invalidOptions } from '../errors.js';

const MAX_KEYS = 1000;
const MAX_KEY_LENGTH = 512;
const MAX_FILE_BYTES = 1 << 20;

export class SharedKeys {
  /** Chosen keys can be weak. The salt makes precomputed digests useless. */
  readonly #salt = randomBytes(32);
  readonly #digests: readonly Buffer[];

  /**
   * `file`: additional keys, one per line.
   *
   * @throws {ChasquiError} `invalid_options`: no keys, an invalid key, or an unreadable file
   */
  constructor(keys: readonly string[], file?: string) {
    for (const key of keys) checkKey(key, 'apiKey');
    const fileKeys = file === undefined ? [] : readKeys(file);
    if (keys.length + fileKeys.length > MAX_KEYS) throw problem('apiKey', `has more than ${MAX_KEYS} keys`);
    this.#digests = [...keys, ...fileKeys].map((key) => this.#digestOf(key));
  }

  /** Takes the same time for every key, valid or not. */
  admits(key: string): boolean {
    const digest = this.#digestOf(key);
    let isKnown = false;
    for (const each of this.#digests) isKnown = timingSafeEqual(each, digest) || isKnown;
    return isKnown;
  }

  #digestOf(key: string): Buffer {
    return createHmac('sha256', this.#salt).update(key).digest();
  }
}

function readKeys(file: string): string[] {
  let text: string;
  try {
    const { size } = statSync(file);
    if (size > MAX_FILE_BYTES) throw new Error(`it has ${size} bytes, more than ${MAX_FILE_BYTES}`);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw problem('apiKeyFile', `cannot be read: ${(error as Error).message}`);
  }
  const keys = text.split('\n').flatMap((line) => line.trim() || []);
  // An empty file must not open a server that requires a key.
  if (keys.length === 0) throw problem('apiKeyFile', `is ${file}, which contains no key`);
  for (const key of keys) checkKey(key, 'apiKeyFile');
  return keys;
}

/** Does not reveal the key in the message. */
function checkKey(key: string, option: string): void {
  if (key.length <= MAX_KEY_LENGTH && /^[\x21-\x7e]+$/.test(key)) return;
  throw problem(option, `has a key that is not 1 to ${MAX_KEY_LENGTH} printable ASCII characters without spaces`);
}

function problem(option: string, what: string): ChasquiError {
  const error = invalidOptions(`\`${option}\` ${what}.`);
  error.option = option;
  return error;
}
