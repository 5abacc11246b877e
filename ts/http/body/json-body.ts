/** Bytes of a request's body → its value, or an error that says in one sentence what is wrong. */
import { ChasquiError } from '../../errors.js';
import { checkShape } from './check-shape.js';
import { MAX_TEXT_BYTES } from './limits.js';

/** `imageLists`: keys of lists whose images, as data URIs or in base64, do not count as text. */
export function parseJsonBody(bytes: Buffer, imageLists: readonly string[] = []): unknown {
  if (bytes.length === 0) throw emptyBody();
  checkShape(bytes);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8', hasByteOrderMark(bytes) ? 3 : 0));
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

function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/**
 * Refuses `__proto__` and `constructor.prototype`, which would change every object of the process if any code copied
 * them carelessly. And refuses long text: only images may be large, because all other text of a body is tokenized,
 * rendered, or repeated in the reply.
 */
function checkValue(root: unknown, imageLists: readonly string[]): void {
  let text = 0;
  const pending: unknown[] = [root];
  const look = (child: unknown, key: string, parent: object): void => {
    if (Array.isArray(child) && imageLists.includes(key)) pending.push(child.filter((item) => !isImageFile(item)));
    else if (typeof child === 'string') text += isImage(parent, key, child) ? 0 : child.length;
    else if (typeof child === 'object' && child !== null) pending.push(child);
  };
  while (pending.length > 0) {
    const value = pending.pop();
    if (Array.isArray(value)) {
      for (const item of value) look(item, '', value);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, child] of Object.entries(value)) {
        if (key === '__proto__' || (key === 'constructor' && hasOwn(child, 'prototype'))) throw forbidden(key);
        text += key.length;
        look(child, key, value);
      }
    }
    if (text > MAX_TEXT_BYTES) throw tooMuchText();
  }
}

/** The three protocols have the bytes of an image in Anthropic's `source` or in a data URI, whatever its type says. */
function isImage(parent: object, key: string, value: string): boolean {
  if (key === 'data') return 'type' in parent && parent.type === 'base64';
  return (key === 'url' || key === 'image_url') && isImageUri(value);
}

function isImageUri(value: unknown): boolean {
  return typeof value === 'string' && /^data:[^,\s]{0,200};base64,/i.test(value);
}

/** How the files of images begin in base64: PNG, JPEG, GIF, WebP, BMP. */
const IMAGE_BASE64 = /^(iVBORw0KGg|\/9j\/|R0lGOD|UklGR|Qk)/;

/** A data URI, or the file in base64 alone. */
function isImageFile(value: unknown): boolean {
  return isImageUri(value) || (typeof value === 'string' && IMAGE_BASE64.test(value));
}

function hasOwn(value: unknown, key: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
}

function forbidden(key: string): ChasquiError {
  return new ChasquiError('invalid_json', `The request body holds the key \`${key}\`, which is not allowed.`);
}

function tooMuchText(): ChasquiError {
  return new ChasquiError(
    'request_too_large',
    `The request body holds more text than this server's limit, ${MAX_TEXT_BYTES} characters beside its images.`,
  );
}
