/** Valid bodies of requests to tokenize and to detokenize → their replies. */
import { checkTokens } from '../../../engine/check-tokens.js';
import type { Engine, OnBehalf } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import type {
  DetokenizeReply,
  DetokenizeRequest,
  TokenizeReply,
  TokenizeRequest,
  TokenPiece,
} from '../../llama-server/tokenize/schema.js';

/** The pieces of so many tokens take a second to serialise. Without pieces only the body's size is limited. */
const MAX_PIECES = 250_000;

export async function toTokens(engine: Engine, body: TokenizeRequest, signal: AbortSignal): Promise<TokenizeReply> {
  const options = { addSpecial: body.add_special ?? false, parseSpecial: body.parse_special ?? true, signal };
  const tokens = Array.from(await engine.tokenize(body.content, options));
  if (!body.with_pieces) return { tokens };
  if (tokens.length > MAX_PIECES) throw tooManyPieces(tokens.length);
  const pieces = await engine.pieces(tokens, { signal });
  return { tokens: tokens.map((id, index) => ({ id, piece: toPiece(pieces[index] as Uint8Array) })) };
}

function tooManyPieces(count: number): ChasquiError {
  return new ChasquiError(
    'invalid_value',
    `\`content\` has ${count} tokens, but \`with_pieces\` is for at most ${MAX_PIECES}: send it in parts.`,
    'content',
  );
}

export async function toText(engine: Engine, body: DetokenizeRequest, signal: AbortSignal): Promise<DetokenizeReply> {
  return { content: await spell(engine, body.tokens, 'tokens', { signal }) };
}

/** The text that tokens spell; `name` is the request field they came in. */
export async function spell(engine: Engine, tokens: readonly number[], name: string, on: OnBehalf): Promise<string> {
  checkTokens(tokens, name, engine.model.vocabularySize);
  return Buffer.concat(await engine.pieces(tokens, on)).toString('utf8');
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function toPiece(bytes: Uint8Array): TokenPiece['piece'] {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return Array.from(bytes);
  }
}
