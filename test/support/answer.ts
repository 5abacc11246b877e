/** A completion as a whole, by a model in this process. */
import { type GenerateRequest, type LoadOptions, loadModel, type Model, type ReplyFinish } from '../../ts/index.js';

export interface Answer {
  text: string;
  ids: number[];
  finish: ReplyFinish;
}

export async function answer(model: Model, request: GenerateRequest): Promise<Answer> {
  let text = '';
  const ids: number[] = [];
  for await (const token of model.generate(request)) {
    text += token.text;
    ids.push(token.id);
    if (token.finish) return { text, ids, finish: token.finish };
  }
  throw new Error('the stream ended without a finish');
}

/** The model is closed afterwards, whatever `body` does. */
export async function withModel(
  path: string,
  options: LoadOptions,
  body: (model: Model) => Promise<void>,
): Promise<void> {
  const model = await loadModel(path, options);
  try {
    await body(model);
  } finally {
    await model.close();
  }
}
