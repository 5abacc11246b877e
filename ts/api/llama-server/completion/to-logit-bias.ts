/** Converts biases of texts to biases of their tokens. */
import type { AbortOptions, Engine } from '../../../engine/engine.js';
import { ChasquiError, invalidValue } from '../../../errors.js';
import { MAX_LOGIT_BIASES } from '../../shared/chat/chat-schema.js';
import type { LogitBiases } from '../schema.js';

/** Stronger than any logit. */
const BAN = -1e6;
/** Each text is tokenized by itself. */
const MAX_TEXTS = 1024;

export async function toLogitBias(
  engine: Engine,
  biases: LogitBiases,
  on: AbortOptions,
): Promise<Record<string, number>> {
  const pairs = Array.isArray(biases) ? biases : Object.entries(biases);
  const found: Record<string, number> = {};
  let texts = 0;
  for (const [index, [key, bias]] of pairs.entries()) {
    if (!isKey(key) || !isBias(bias)) throw notPair(index);
    const isToken = typeof key === 'number' || /^(0|[1-9][0-9]{0,8})$/.test(key);
    texts += isToken ? 0 : 1;
    if (texts > MAX_TEXTS) throw tooMany(`${MAX_TEXTS} texts`);
    const tokens = isToken ? [Number(key)] : await engine.tokenize(String(key), { addSpecial: false, ...on });
    for (const token of tokens) found[token] = bias === false ? BAN : bias;
  }
  if (Object.keys(found).length > MAX_LOGIT_BIASES) throw tooMany(`${MAX_LOGIT_BIASES} tokens`);
  return found;
}

function isKey(key: unknown): key is number | string {
  return typeof key === 'string' || (Number.isInteger(key) && Number(key) >= 0);
}

function isBias(bias: unknown): bias is number | false {
  return typeof bias === 'number' || bias === false;
}

function notPair(index: number): ChasquiError {
  const param = `logit_bias[${index}]`;
  return new ChasquiError('invalid_type', `\`${param}\` must be a token or a text, and a number or false.`, param);
}

function tooMany(limit: string): ChasquiError {
  return invalidValue(`\`logit_bias\` must have at most ${limit}.`, 'logit_bias');
}
