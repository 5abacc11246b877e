import { detect } from 'tinyld/light';

/** A longer text adds no certainty. */
const maxLength = 2000;

/** BCP 47; `null` if it is unknown. */
export function languageOf(text: string): string | null {
  return detect(text.slice(0, maxLength)) || null;
}
