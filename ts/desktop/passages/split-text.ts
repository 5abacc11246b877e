/** Splits the text of a file into passages that embedding models with a context of 512 tokens can read. */

export interface Passage {
  /** Offsets in the text. */
  start: number;
  end: number;
  /** Lines of the text, from 1. */
  firstLine: number;
  lastLine: number;
}

/** Of UTF-8: other alphabets have more tokens per character. */
const MAX_BYTES = 800;
/** Ends of passages, the preferred ones first. */
const ENDS = [/\n\s*\n/g, /\n/g, /[.!?。！？]\s?/g, /\s/g];

export function splitText(text: string): Passage[] {
  const passages: Passage[] = [];
  let line = 1;
  for (let start = 0; start < text.length; ) {
    const end = endOfPassage(text, start);
    const content = text.slice(start, end);
    const firstLine = line + linesIn(content.slice(0, content.length - content.trimStart().length));
    const lastLine = firstLine + linesIn(content.trim());
    if (content.trim() !== '') passages.push({ start, end, firstLine, lastLine });
    line += linesIn(content);
    start = end;
  }
  return passages;
}

function linesIn(text: string): number {
  return text.split('\n').length - 1;
}

function endOfPassage(text: string, start: number): number {
  const longest = endOfBytes(text, start);
  if (longest === text.length) return longest;
  const content = text.slice(start, longest);
  for (const pattern of ENDS) {
    const last = [...content.matchAll(pattern)].at(-1);
    if (last !== undefined && last.index > content.length / 2) return start + last.index + last[0].length;
  }
  return longest;
}

function endOfBytes(text: string, start: number): number {
  let end = start;
  for (let bytes = 0; end < text.length; end += 1) {
    const unit = text.charCodeAt(end);
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
    if (bytes > MAX_BYTES) break;
  }
  // Not within a surrogate pair.
  return end < text.length && /[\uDC00-\uDFFF]/.test(text[end] as string) ? end - 1 : end;
}
