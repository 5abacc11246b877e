/**
 * The API keys that an operator chose for a server of their own. All open the same, so a key has no id: it is compared with
 * each of them.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { ChasquiError } from '../errors.js';

const MAX_KEYS = 1000;
const MAX_KEY_LENGTH = 512;
const MAX_FILE_BYTES = 1 << 20;

export class SharedKeys {
  /** People choose such keys, and so the digests of well-known ones must be of no use to whoever reads this memory. */
  readonly #salt = randomBytes(32);
  readonly #digests: readonly Buffer[];

  /**
   * `file` has a key on each line, beside those of `keys`.
   * @throws {ChasquiError} `invalid_options`: there is no key, or one that no header can hold, or the file cannot be read.
   */
  constructor(keys: readonly string[], file?: string) {
    for (const key of keys) checkKey(key, 'apiKey');
    const ofFile = file === undefined ? [] : readKeys(file);
    if (keys.length + ofFile.length > MAX_KEYS) throw problem('apiKey', `has more than ${MAX_KEYS} keys`);
    this.#digests = [...keys, ...ofFile].map((key) => this.#digestOf(key));
  }

  /** Takes the same time whichever key it is, and whether it is one. */
  admits(key: string): boolean {
    const digest = this.#digestOf(key);
    let isOne = false;
    for (const each of this.#digests) isOne = timingSafeEqual(each, digest) || isOne;
    return isOne;
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
  // A server that asks for a key must not be open because a file was empty.
  if (keys.length === 0) throw problem('apiKeyFile', `is ${file}, which has no key in it`);
  for (const key of keys) checkKey(key, 'apiKeyFile');
  return keys;
}

/** The message does not repeat the key. */
function checkKey(key: string, option: string): void {
  if (key.length <= MAX_KEY_LENGTH && /^[\x21-\x7e]+$/.test(key)) return;
  const what = `has a key that is not of 1 to ${MAX_KEY_LENGTH} letters, digits and signs of ASCII, without spaces`;
  throw problem(option, what);
}

function problem(option: string, what: string): ChasquiError {
  const error = new ChasquiError('invalid_options', `\`${option}\` ${what}.`);
  error.option = option;
  return error;
}
