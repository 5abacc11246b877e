/** Shortens texts that are too long for an embedding. Ollama does this by default. */
import type { AbortOptions, Engine } from '../../../engine/engine.js';

/** Every token has at least one byte, and few models add more tokens than this to a text. */
const MAX_SPECIALS = 4;

/** Returns the texts unchanged if none is too long, otherwise the tokens of each: all inputs must be of one kind. */
export async function shortenTexts(
  engine: Engine,
  texts: readonly string[],
  on: AbortOptions,
): Promise<string[] | number[][]> {
  const room = engine.model.embeddingContextLength;
  if (texts.every((text) => Buffer.byteLength(text) + MAX_SPECIALS <= room)) return [...texts];
  const tokens = await Promise.all(texts.map((text) => engine.tokenize(text, { addSpecial: true, ...on })));
  if (tokens.every(({ length }) => length <= room)) return [...texts];
  return Promise.all(
    texts.map(async (text, index) => {
      const whole = tokens[index] as Int32Array;
      if (whole.length <= room) return Array.from(whole);
      return shorten(whole, await engine.tokenize(text, { addSpecial: false, ...on }), room);
    }),
  );
}

/** Removes the end of the text, before the tokens that the model appends. */
function shorten(whole: Int32Array, own: Int32Array, room: number): number[] {
  const added = whole.length - own.length;
  let before = 0;
  while (before < added && whole[before] !== own[0]) before += 1;
  const kept = own.subarray(0, Math.max(room - added, 0));
  const behind = whole.subarray(before + own.length);
  return [...whole.subarray(0, before), ...kept, ...behind];
}
