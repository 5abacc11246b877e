/** Parses the bytes of a request body. Errors give the reason in one sentence. */
import { isUtf8 } from 'node:buffer';
import { ChasquiError, invalidValue } from '../../errors.js';
import { MAX_BODY_DEPTH, MAX_STRUCTURE, MAX_TEXT_BYTES, MAX_VALUES } from './limits.js';

/** `imageLists`: keys of image lists. Their data URIs and base64 strings do not count as text. */
export function parseJsonBody(bytes: Buffer, imageLists: readonly string[] = []): unknown {
  if (bytes.length === 0) throw emptyBody();
  if (!isUtf8(bytes)) throw notUtf8(bytes);
  checkShape(bytes);
  let value: unknown;
  try {
    const text = bytes.toString('utf8');
    value = JSON.parse(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ChasquiError('invalid_json', `The request body is not valid JSON: ${reason}.`);
  }
  checkValue(value, imageLists);
  return value;
}

export function emptyBody(): ChasquiError {
  return new ChasquiError('invalid_json', 'The request body is empty; send a JSON object.');
}

const BYTE_ORDER_MARK = '\ufeff';
const REPLACEMENT = '\ufffd';

/** Decoding marks the first invalid byte with U+FFFD, which a text may also contain itself. */
function notUtf8(bytes: Buffer): ChasquiError {
  const text = bytes.toString('utf8');
  let read = 0;
  let offset = 0;
  for (;;) {
    const found = text.indexOf(REPLACEMENT, read);
    offset += Buffer.byteLength(text.slice(read, found));
    if (bytes.toString('latin1', offset, offset + 3) !== '\xef\xbf\xbd') break;
    offset += 3;
    read = found + 1;
  }
  const byte = bytes[offset]?.toString(16).padStart(2, '0');
  return new ChasquiError(
    'invalid_json',
    `The request body is not valid UTF-8: the byte at offset ${offset} is 0x${byte}. Encode the body as UTF-8.`,
  );
}

/**
 * Refuses `__proto__` and `constructor.prototype`, which could pollute the prototype of all objects. Also refuses long
 * text: only images may be large, because all other text is tokenized, rendered, or repeated in the reply.
 */
function checkValue(root: unknown, imageLists: readonly string[]): void {
  if (typeof root !== 'object' || root === null) return;
  let text = 0;
  const pending: { value: object; place: Place }[] = [{ value: root, place: 'body' }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value: parent, place } = next;
    const isList = Array.isArray(parent);
    for (const [name, child] of isList ? parent.entries() : Object.entries(parent)) {
      const key = isList ? '' : String(name);
      if (key === '__proto__' || (key === 'constructor' && hasOwn(child, 'prototype'))) {
        throw new ChasquiError('invalid_json', `The request body holds the key \`${key}\`, which is not allowed.`);
      }
      text += key.length;
      if (typeof child === 'string') {
        text += isImage(place, parent, key, child) ? 0 : child.length;
      } else if (typeof child === 'object' && child !== null) {
        const own = placeOf(place, parent, key);
        const isImageList = own === 'shown' && imageLists.includes(key) && Array.isArray(child);
        pending.push({ value: isImageList ? child.filter((item) => !isImageFile(item)) : child, place: own });
      }
    }
    if (text > MAX_TEXT_BYTES) throw tooMuchText();
  }
}

function hasOwn(value: unknown, key: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
}

function tooMuchText(): ChasquiError {
  return new ChasquiError(
    'request_too_large',
    `The request body holds more text than this server's limit, ${MAX_TEXT_BYTES} characters beside its images and audio.`,
  );
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Throws if the JSON is nested too deeply or has too many values. Reads every byte once. */
export function checkShape(json: Uint8Array): void {
  let depth = 0;
  let values = 1;
  let structure = 0;
  let strings = 0;
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case QUOTE:
        at = endOfString(json, at);
        strings += 1;
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth += 1;
        values += 1;
        structure += 1;
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        break;
      case COLON:
        structure += 1;
        break;
      default:
        continue;
    }
    if (depth > MAX_BODY_DEPTH) {
      throw invalidValue(`The request body is nested deeper than this server's limit, ${MAX_BODY_DEPTH} levels.`);
    }
    // A JSON text has no more strings than values and keys.
    if (values > MAX_VALUES || strings > MAX_VALUES + MAX_STRUCTURE) throw tooMuch(`${MAX_VALUES} values`);
    if (structure > MAX_STRUCTURE) throw tooMuch(`${MAX_STRUCTURE} objects, arrays and keys`);
  }
}

/** From this distance on `indexOf`, which uses the processor's widest registers, is faster than a loop. */
const NEAR = 64;

/** Returns the end of the string that begins at `start`, or the end of the text if the string is unterminated. */
function endOfString(json: Uint8Array, start: number): number {
  let at = start + 1;
  for (;;) {
    for (const near = Math.min(at + NEAR, json.length); at < near; at++) {
      if (json[at] === QUOTE) return at;
      if (json[at] === BACKSLASH) at += 1;
    }
    const quote = json.indexOf(QUOTE, at);
    if (quote < 0) return json.length;
    if (!isEscaped(json, quote, at)) return quote;
    at = quote + 1;
  }
}

/** An odd number of backslashes before a quote escapes it. `from`: where the search for them stops. */
function isEscaped(json: Uint8Array, quote: number, from: number): boolean {
  let first = quote;
  while (first > from && json[first - 1] === BACKSLASH) first -= 1;
  return (quote - first) % 2 === 1;
}

function tooMuch(limit: string): ChasquiError {
  return new ChasquiError('request_too_large', `The request body holds more than this server's limit, ${limit}.`);
}

/** The role of an object or an array in a body. */
export type Place =
  | 'body'
  /** Input of the model, or a parent of it. */
  | 'shown'
  /** The result of a built-in tool of OpenAI: a screenshot, or values that are shown as JSON. */
  | 'result'
  | 'elsewhere';

const KEYS_OF_BODIES = new Set(['messages', 'input', 'items', 'images']);
const KEYS_OF_SHOWN = new Set([
  'content',
  'output',
  'source',
  'image_url',
  'input_audio',
  'audio_url',
  'images',
  'file',
]);

/** Returns the place of the member `key` of `parent`, which is in `place`. */
export function placeOf(place: Place, parent: object, key: string): Place {
  if (Array.isArray(parent)) return place === 'result' ? 'elsewhere' : place;
  if (place === 'body') return KEYS_OF_BODIES.has(key) ? 'shown' : 'elsewhere';
  if (place !== 'shown' || !KEYS_OF_SHOWN.has(key)) return 'elsewhere';
  const isResult = key === 'output' && !/^(function|custom_tool)_call_output$/.test(textOf(parent, 'type'));
  return isResult ? 'result' : 'shown';
}

/** The three protocols have image bytes in Anthropic's `source` or in a data URI, regardless of the declared type. */
export function isImage(place: Place, parent: object, key: string, value: string): boolean {
  if (key === 'image_url') return (place === 'shown' || place === 'result') && isImageUri(value);
  if (place !== 'shown') return false;
  if (key === 'file_data') return isBinaryFile(value);
  if (key === 'data') {
    const type = textOf(parent, 'type');
    // `input_audio` has no type.
    return type === '' ? AUDIO.test(value) : type === 'base64' && !/^text\//i.test(textOf(parent, 'media_type'));
  }
  return key === 'url' && isImageUri(value);
}

/** Magic bytes of image files in base64: PNG, JPEG, GIF, WebP, BMP. */
const IMAGE_BASE64 = /^(iVBORw0KGg|\/9j\/|R0lGOD|UklGR|Qk)/;

/** A data URI of audio, or magic bytes in base64: WAV, FLAC, and MP3 with and without ID3. */
const AUDIO = /^(data:audio\/|UklGR|ZkxhQ|SUQz|\/\/[I-Po-v])/;

/** A data URI, or the plain base64 of a file. */
export function isImageFile(value: unknown): boolean {
  return typeof value === 'string' && (isImageUri(value) || IMAGE_BASE64.test(value));
}

/** A PDF file, or a data URI of another type than text. */
function isBinaryFile(value: string): boolean {
  return value.startsWith('JVBERi0') || /^data:(?!text\/)[^,\s]{0,200};base64,/i.test(value);
}

function isImageUri(value: string): boolean {
  return /^data:[^,\s]{0,200};base64,/i.test(value);
}

function textOf(parent: object, key: string): string {
  const value: unknown = (parent as Record<string, unknown>)[key];
  return typeof value === 'string' ? value : '';
}
