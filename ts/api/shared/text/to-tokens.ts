import { checkTokens } from '../../../engine/check-tokens.js';
import type { AbortOptions, Engine } from '../../../engine/engine.js';

/** Returns the text of tokens. `name`: the request field of the tokens. */
export async function spell(
  engine: Engine,
  tokens: readonly number[],
  name: string,
  on: AbortOptions,
): Promise<string> {
  checkTokens(tokens, name, engine.model.vocabularySize);
  return Buffer.concat(await engine.pieces(tokens, on)).toString('utf8');
}
