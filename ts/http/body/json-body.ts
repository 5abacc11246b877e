/** Bytes of a request's body → its value, or an error that says in one sentence what is wrong. */
import { ChasquiError } from '../../errors.js';
import { checkShape } from './check-shape.js';
import { isImage, isImageFile, type Place, placeOf } from './image-places.js';
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
  const pending: { value: unknown; place: Place }[] = [{ value: root, place: 'body' }];
  const look = (child: unknown, key: string, parent: object, place: Place): void => {
    if (typeof child === 'string') {
      text += isImage(place, parent, key, child) ? 0 : child.length;
    } else if (typeof child === 'object' && child !== null) {
      const own = placeOf(place, parent, key);
      const isImageList = own === 'shown' && imageLists.includes(key) && Array.isArray(child);
      pending.push({ value: isImageList ? child.filter((item) => !isImageFile(item)) : child, place: own });
    }
  };
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, place } = next;
    if (Array.isArray(value)) {
      for (const item of value) look(item, '', value, place);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, child] of Object.entries(value)) {
        if (key === '__proto__' || (key === 'constructor' && hasOwn(child, 'prototype'))) throw forbidden(key);
        text += key.length;
        look(child, key, value, place);
      }
    }
    if (text > MAX_TEXT_BYTES) throw tooMuchText();
  }
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
