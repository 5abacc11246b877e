/** Numbers on the command line. Commander puts the option's name before the message. */
import { InvalidArgumentError } from 'commander';

export function parsePort(text: string): number {
  const port = parseWhole(text);
  if (port === null || port > 65_535) throw new InvalidArgumentError('A port is a whole number from 0 to 65535.');
  return port;
}

/** Zero is allowed: there may be none of it. */
export function parseCountOrZero(text: string): number {
  const count = parseWhole(text);
  if (count === null || count >= 2 ** 31) throw new InvalidArgumentError('It must be a whole number.');
  return count;
}

/** At least one, and not more than the native code can count. */
export function parseCount(text: string): number {
  const count = parseWhole(text);
  if (count === null || count < 1 || count >= 2 ** 31) {
    throw new InvalidArgumentError('It must be a whole number of at least 1.');
  }
  return count;
}

/** Of waiting: as many as fit into a timer of milliseconds. */
export function parseSeconds(text: string): number {
  const seconds = parseWhole(text);
  if (seconds === null || seconds < 1 || seconds > 1_000_000) {
    throw new InvalidArgumentError('It must be a whole number of seconds, from 1 to 1000000.');
  }
  return seconds;
}

export function parseProbability(text: string): number {
  const probability = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(probability <= 1)) throw new InvalidArgumentError('It must be a number from 0 to 1.');
  return probability;
}

function parseWhole(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
