/** From the fields of a request to how long its model stays loaded when nobody uses it. */
import { ChasquiError } from '../../errors.js';
import { MAX_KEEP_ALIVE_S, type ModelUse } from './model-use-schema.js';

/** Milliseconds; Infinity: for ever, `undefined`: the request does not say. `keep_alive` goes before `ttl`. */
export function keepMsOf({ keep_alive: keepAlive, ttl }: ModelUse): number | undefined {
  const seconds = typeof keepAlive === 'string' ? toSeconds(keepAlive) : (keepAlive ?? ttl);
  if (seconds === undefined) return undefined;
  return seconds < 0 ? Infinity : seconds * 1000;
}

const SECONDS: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };
const DURATION = /^([+-]?)((?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+)$/;
const PART = /(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g;

/** Go's durations, which Ollama takes, and plain numbers of seconds. */
function toSeconds(text: string): number {
  const [, sign, parts] = DURATION.exec(text) ?? [];
  let seconds = Number.NaN;
  if (/^-?\d+$/.test(text)) {
    seconds = Number(text);
  } else if (parts !== undefined) {
    const sum = [...parts.matchAll(PART)].reduce((all, part) => all + toPartSeconds(part), 0);
    seconds = sign === '-' ? -sum : sum;
  }
  if (seconds <= MAX_KEEP_ALIVE_S) return seconds;
  throw new ChasquiError(
    'invalid_value',
    '`keep_alive` must be seconds, or a duration such as `5m` or `1h30m`; ' +
      `${MAX_KEEP_ALIVE_S} seconds at most, less than 0 for ever.`,
    'keep_alive',
  );
}

function toPartSeconds([, count, unit = '']: RegExpExecArray): number {
  return Number(count) * (SECONDS[unit] ?? Number.NaN);
}
