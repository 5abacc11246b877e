/** A prompt as a chain of hashes: prompts with a common prefix have common first hashes. */

/** Characters per block, about 128 tokens. Shorter prefixes are not worth routing for. */
export const BLOCK_LENGTH = 512;

/** Blocks cover the first two million characters. */
const MAX_BLOCKS = 4096;

/** A larger body is not parsed; its first `RAW_BYTES` are hashed. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
const RAW_BYTES = 256 * 1024;

/** Fields in prompt order. Prompts with different salts share no cache. */
const PARTS = [
  'cache_salt',
  'model',
  'tools',
  'functions',
  'system',
  'instructions',
  'messages',
  'input',
  'prompt',
  'query',
];

/** Hashes of a request's prompt, for its key: keys share no cache. A body that is not JSON is hashed as bytes. */
export function promptBlocks(body: Buffer, keyId: string | null): number[] {
  if (body.length === 0) return [];
  const [owner, raw] = [`${keyId ?? ''}\n`, () => body.toString('latin1', 0, RAW_BYTES)];
  if (body.length > MAX_TEXT_BYTES) return blocksOf(owner + raw());
  try {
    const fields = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    const parts = PARTS.map((part) => (fields[part] === undefined ? '' : JSON.stringify(fields[part])));
    return blocksOf(owner + parts.join('\n'));
  } catch {
    return blocksOf(owner + raw());
  }
}

/** The last block may be shorter, so short prompts are compared too. */
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
    // 53 bits fit into a number.
    blocks.push((high >>> 11) * 2 ** 32 + (low >>> 0));
  }
  return blocks;
}
