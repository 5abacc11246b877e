/** The lines of a batch file: one request each. */
import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { ChasquiError, invalidValue } from '../../../errors.js';
import { checkShape } from '../../../http/body/json-body.js';
import { BATCH_ENDPOINTS, type BatchEndpoint, type BatchError } from '../../shared/batch-schema.js';

export interface BatchLine {
  custom_id: string;
  url: BatchEndpoint;
  body: Record<string, unknown>;
}

export const MAX_LINES = 50_000;
export const MAX_CUSTOM_ID_LENGTH = 256;
/** The whole file is refused after this many errors. */
const MAX_ERRORS = 100;
const NEWLINE = 0x0a;
/** Yields to other requests after this many bytes. */
const SLICE = 2 ** 18;

export interface NumberedLine {
  bytes: Buffer;
  /** Counted from 1. */
  number: number;
}

export function* splitLines(content: Buffer): Generator<NumberedLine> {
  for (let start = 0, number = 1; start < content.length; number += 1) {
    const found = content.indexOf(NEWLINE, start);
    const end = found < 0 ? content.length : found;
    yield { bytes: content.subarray(start, end), number };
    start = end + 1;
  }
}

/** A longer line of spaces is not valid JSON. */
const MAX_BLANK_LENGTH = 64;

export function isBlank(line: Buffer): boolean {
  return line.length <= MAX_BLANK_LENGTH && line.toString().trim() === '';
}

/** With an `endpoint`, all lines must be for it. Throws `ChasquiError`. */
export function readLine(bytes: Buffer, endpoint: BatchEndpoint | null): BatchLine {
  const line = parse(bytes);
  const { custom_id, method = 'POST', url = endpoint, body } = line;
  if (typeof custom_id !== 'string' || custom_id === '' || custom_id.length > MAX_CUSTOM_ID_LENGTH) {
    throw wrong('custom_id', `a text of 1 to ${MAX_CUSTOM_ID_LENGTH} characters`);
  }
  if (method !== 'POST') throw wrong('method', '"POST"');
  const urls: readonly unknown[] = endpoint === null ? BATCH_ENDPOINTS : [endpoint];
  if (!urls.includes(url)) throw wrong('url', urls.map((each) => JSON.stringify(each)).join(' or '));
  if (!isObject(body)) throw wrong('body', 'an object');
  for (const flag of ['stream', 'background']) {
    if (body[flag] === true) throw wrong(`body.${flag}`, 'false or absent in a batch');
  }
  return { custom_id, url: url as BatchEndpoint, body };
}

export interface CheckedLines {
  /** The number of lines that are not blank. */
  count: number;
  /** The first errors. If there is one, no line must run. */
  errors: BatchError[];
}

/** Lines above `maxLines` are errors, blank ones included. */
export async function checkLines(
  lines: Iterable<NumberedLine> | AsyncIterable<NumberedLine>,
  endpoint: BatchEndpoint | null,
  maxLines = MAX_LINES,
): Promise<CheckedLines> {
  const errors: BatchError[] = [];
  const ids = new Set<string>();
  let sinceYield = 0;
  let count = 0;
  for await (const { bytes, number } of lines) {
    // Blank lines count as well: the loop over them takes time.
    if (number > maxLines) {
      errors.push(toBatchError(new ChasquiError('request_too_large', `The file has more than ${maxLines} lines.`)));
      break;
    }
    if (isBlank(bytes)) continue;
    count += 1;
    try {
      const { custom_id } = readLine(bytes, endpoint);
      if (ids.has(custom_id)) throw wrong('custom_id', 'unique in the file');
      ids.add(custom_id);
    } catch (error) {
      errors.push(toBatchError(error as ChasquiError, number));
      if (errors.length === MAX_ERRORS) break;
    }
    sinceYield += bytes.length;
    if (sinceYield < SLICE) continue;
    sinceYield = 0;
    await setImmediate();
  }
  if (count === 0 && errors.length === 0) errors.push(toBatchError(invalidValue('The file has no lines.')));
  return { count, errors };
}

export function toBatchError({ code, message, param }: ChasquiError, line: number | null = null): BatchError {
  return { code, message, param, line };
}

function parse(bytes: Buffer): Record<string, unknown> {
  if (!isUtf8(bytes)) throw new ChasquiError('invalid_json', 'The line is not valid UTF-8.');
  checkShape(bytes);
  let line: unknown;
  try {
    line = JSON.parse(bytes.toString('utf8').replace(/^\ufeff/, ''));
  } catch {
    throw new ChasquiError('invalid_json', 'The line is not valid JSON.');
  }
  if (!isObject(line)) throw new ChasquiError('invalid_type', 'The line is not a JSON object.');
  return line;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrong(param: string, expected: string): ChasquiError {
  return invalidValue(`\`${param}\` must be ${expected}.`, param);
}
