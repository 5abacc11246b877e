/** A prompt as a chain of hashes: two prompts with the same first text have the same first hashes. */

/** Some 128 tokens. A prefix that is shared by less than that is not worth a detour. */
export const BLOCK_LENGTH = 512;

/** Prompts are compared over their first two million characters. */
const MAX_BLOCKS = 4096;

/** Of a body that is too large to be text, this much is read as it came. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
const RAW_BYTES = 256 * 1024;

/** Whoever knows what a runner makes of a request puts first what comes first in its prompt. */
const PARTS = ['model', 'tools', 'functions', 'system', 'instructions', 'messages', 'input', 'prompt', 'query'];

/** The hashes of a request's prompt. Bytes that are no JSON are compared as they are. */
export function promptBlocks(body: Buffer): number[] {
  if (body.length > MAX_TEXT_BYTES) return blocksOf(body.toString('latin1', 0, RAW_BYTES));
  try {
    const fields = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    return blocksOf(PARTS.map((part) => (fields[part] === undefined ? '' : JSON.stringify(fields[part]))).join('\n'));
  } catch {
    return blocksOf(body.toString('latin1', 0, RAW_BYTES));
  }
}

/** What is left over at the end makes a block of its own: prompts that are shorter than a block are compared, too. */
export function blocksOf(text: string): number[] {
  const blocks: number[] = [];
  let low = 0x811c9dc5;
  let high = 0x9e3779b9;
  for (let start = 0; start < text.length && blocks.length < MAX_BLOCKS; start += BLOCK_LENGTH) {
    const end = Math.min(text.length, start + BLOCK_LENGTH);
    for (let at = start; at < end; at++) {
      const code = text.charCodeAt(at);
      low = Math.imul(low ^ code, 0x01000193);
      high = Math.imul(high ^ code, 0x85ebca6b) ^ (high >>> 13);
    }
    // 53 bits, which a number holds exactly.
    blocks.push((high >>> 11) * 2 ** 32 + (low >>> 0));
  }
  return blocks;
}
