/** `GET /tokenizer_info`, in the form of vLLM. */
import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../../engine/engine.js';
import { readGgufFile } from '../../../engine/gguf-header.js';
import { ChasquiError } from '../../../errors.js';
import type { Operation } from '../../../http/openapi/operation.js';
import type { AppContext } from '../../context.js';
import { type ByModel, engineOf } from '../../shared/loaded-engine.js';
import { type TokenizerInfo, tokenizerInfoSchema } from './schema.js';

export function tokenizerInfoRoute(app: FastifyInstance, { pool }: AppContext): void {
  const known = new WeakMap<Engine, Promise<TokenizerInfo>>();
  app.get<ByModel>('/tokenizer_info', { config: { operation } }, async ({ query }) => {
    const engine = engineOf(pool, query);
    const info = known.get(engine) ?? readTokenizerInfo(engine);
    known.set(engine, info);
    info.catch(() => known.delete(engine));
    return info;
  });
}

async function readTokenizerInfo(engine: Engine): Promise<TokenizerInfo> {
  const { id: name, path, vocabularySize, contextLength } = engine.model;
  const { metadata } = await readGgufFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof ChasquiError) throw error;
    throw new ChasquiError(
      'model_file_missing',
      `The file of \`${name}\` can no longer be read: ${error.code}.`,
      'model',
    );
  });
  const template = metadata.get('tokenizer.chat_template');
  const nameOf = async (kind: string): Promise<string | null> => {
    const id = metadata.get(`tokenizer.ggml.${kind}_token_id`);
    if (typeof id !== 'number' || id < 0 || id >= vocabularySize) return null;
    return Buffer.from((await engine.pieces([id]))[0] ?? []).toString('utf8');
  };
  return {
    tokenizer_class: 'GGUF',
    bos_token: await nameOf('bos'),
    eos_token: await nameOf('eos'),
    pad_token: await nameOf('padding'),
    chat_template: typeof template === 'string' ? template : null,
    vocab_size: vocabularySize,
    model_max_length: contextLength,
  };
}

const operation: Operation = {
  id: 'showTokenizer',
  tag: 'Text',
  summary: 'Special tokens and chat template of a model (vLLM).',
  description: 'Describes the model of `?model=`, or the first loaded one.',
  errors: ['model_not_found', 'model_loading', 'model_not_loaded', 'model_file_invalid', 'model_file_missing'],
  reply: { json: { name: 'TokenizerInfo', schema: tokenizerInfoSchema } },
};
