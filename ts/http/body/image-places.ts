/**
 * Where a body may have images, which may be large. Elsewhere there are values of tools: whatever these look like, they
 * become text.
 */

/** Of an object or a list in a body. */
export type Place =
  /** It is the body itself. */
  | 'body'
  /** It is, or leads to, what the model is shown. */
  | 'shown'
  /** It is the result of a tool of OpenAI's: a screenshot, or values that are shown as JSON. */
  | 'result'
  | 'elsewhere';

const KEYS_OF_BODIES = new Set(['messages', 'input', 'items', 'images']);
const KEYS_OF_SHOWN = new Set(['content', 'output', 'source', 'image_url', 'images']);

/** The place of what `parent`, which is in `place`, has under `key`. */
export function placeOf(place: Place, parent: object, key: string): Place {
  if (Array.isArray(parent)) return place === 'result' ? 'elsewhere' : place;
  if (place === 'body') return KEYS_OF_BODIES.has(key) ? 'shown' : 'elsewhere';
  if (place !== 'shown' || !KEYS_OF_SHOWN.has(key)) return 'elsewhere';
  const isResult = key === 'output' && !/^(function|custom_tool)_call_output$/.test(textOf(parent, 'type'));
  return isResult ? 'result' : 'shown';
}

/** The three protocols have the bytes of an image in Anthropic's `source` or in a data URI, whatever its type says. */
export function isImage(place: Place, parent: object, key: string, value: string): boolean {
  if (key === 'image_url') return (place === 'shown' || place === 'result') && isImageUri(value);
  if (place !== 'shown') return false;
  // A document in base64 cannot be read here, unless it is a text.
  if (key === 'data') return textOf(parent, 'type') === 'base64' && !/^text\//i.test(textOf(parent, 'media_type'));
  return key === 'url' && isImageUri(value);
}

/** How the files of images begin in base64: PNG, JPEG, GIF, WebP, BMP. */
const IMAGE_BASE64 = /^(iVBORw0KGg|\/9j\/|R0lGOD|UklGR|Qk)/;

/** A data URI, or the file in base64 alone. */
export function isImageFile(value: unknown): boolean {
  return typeof value === 'string' && (isImageUri(value) || IMAGE_BASE64.test(value));
}

function isImageUri(value: string): boolean {
  return /^data:[^,\s]{0,200};base64,/i.test(value);
}

function textOf(parent: object, key: string): string {
  const value: unknown = (parent as Record<string, unknown>)[key];
  return typeof value === 'string' ? value : '';
}
