/** Texts that are too long to be embedded, shortened: by default Ollama takes of each as much as there is room for. */
import type { AbortOptions, Engine } from '../../../engine/engine.js';

/** Every token has a byte at least, and few models add more than these to a text. */
const MAX_SPECIALS = 4;

/** All as they are if none is too long; else the tokens of each, because inputs are of one kind. */
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

/** Leaves out the end of the text's own tokens, so that those which the model adds behind them stay. */
function shorten(whole: Int32Array, own: Int32Array, room: number): number[] {
  const added = whole.length - own.length;
  let before = 0;
  while (before < added && whole[before] !== own[0]) before += 1;
  const kept = own.subarray(0, Math.max(room - added, 0));
  const behind = whole.subarray(before + own.length);
  return [...whole.subarray(0, before), ...kept, ...behind];
}
