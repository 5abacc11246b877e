import type { Engine } from '../../../engine/engine.js';
import { ChasquiError, invalidValue } from '../../../errors.js';
import { spell } from '../../shared/text/to-tokens.js';
import type { DetokenizeReply, DetokenizeRequest, TokenizeReply, TokenizeRequest, TokenPiece } from './schema.js';

/** Serialising this many pieces takes a second. Without pieces, only the size of the body is limited. */
const MAX_PIECES = 250_000;

export async function toTokens(engine: Engine, body: TokenizeRequest, signal: AbortSignal): Promise<TokenizeReply> {
  const { content, prompt } = body;
  const text = content ?? prompt;
  if (text === undefined)
    throw new ChasquiError('missing_required_parameter', 'Missing required parameter: `content`.', 'content');
  const addSpecial = body.add_special ?? body.add_special_tokens ?? content === undefined;
  const options = { addSpecial, parseSpecial: body.parse_special ?? true, signal };
  const tokens = Array.from(await engine.tokenize(text, options));
  const ofPrompt = { count: tokens.length, max_model_len: engine.model.contextLength };
  if (!body.with_pieces) return content === undefined ? { tokens, ...ofPrompt } : { tokens };
  if (tokens.length > MAX_PIECES) {
    const field = content === undefined ? 'prompt' : 'content';
    const message = `\`${field}\` has ${tokens.length} tokens, but the limit with \`with_pieces\` is ${MAX_PIECES}. Send it in parts.`;
    throw invalidValue(message, field);
  }
  const pieces = await engine.pieces(tokens, { signal });
  return { tokens: tokens.map((id, index) => ({ id, piece: toPiece(pieces[index] as Uint8Array) })) };
}

export async function toText(engine: Engine, body: DetokenizeRequest, signal: AbortSignal): Promise<DetokenizeReply> {
  const text = await spell(engine, body.tokens, 'tokens', { signal });
  return { content: text, prompt: text };
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a token, or its bytes if they are not valid UTF-8. */
function toPiece(bytes: Uint8Array): TokenPiece['piece'] {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return Array.from(bytes);
  }
}
