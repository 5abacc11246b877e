import { readFileSync } from 'node:fs';
import { invalidOptions } from '../../errors.js';

const MAX_LENGTH = 4096;

/**
 * Returns the secret in `file`, or else that of a variable; null without either.
 * @throws {ChasquiError} `invalid_options`, with the name of the option
 */
export function readSecret(file: string | undefined, option: string, variable: string | undefined): string | null {
  if (file === undefined) return variable || null;
  const secret = contentOf(file, option).trim();
  if (secret === '' || secret.length > MAX_LENGTH || /[\r\n]/.test(secret)) {
    throw invalidOptions(`\`${option}\`: ${file} must have one line of at most ${MAX_LENGTH} characters.`);
  }
  return secret;
}

function contentOf(file: string, option: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw invalidOptions(`\`${option}\`: ${(error as Error).message}.`);
  }
}
