/** Prints what two models think comes next, with the backend that CHASQUI_BACKEND names, and llama.cpp's log: run by `compute.ts`. */

import { type GenerateRequest, loadModel } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { picture } from '../support/picture.js';
import { syntheticModel } from '../support/synthetic-model.js';
import { syntheticProjector } from '../support/synthetic-projector.js';
import type { Answers, Next } from './compute.js';

const tokens = (length: number) => Array.from({ length }, (_, at) => 40 + ((at * 7) % 50));
const question: GenerateRequest = {
  messages: [
    {
      role: 'user',
      content: [
        { type: 'image', image: picture(1) },
        { type: 'text', text: 'What is it?' },
      ],
    },
  ],
};
// A product with one vector, with a few, with a matrix, and with a full batch take a kernel each.
const requests: Record<string, GenerateRequest> = {
  '1 token': { prompt: tokens(1) },
  '4 tokens': { prompt: tokens(4) },
  '30 tokens': { prompt: tokens(30) },
  'a picture': question,
};
const long: Record<string, GenerateRequest> = { '600 tokens': { prompt: tokens(600) } };

async function answersOf(path: string, modelWidth: number, asked: typeof requests): Promise<Answers[string]> {
  const shape = { imageSize: 32, patchSize: 16, layers: 1, width: 32, hidden: 64, heads: 2, modelWidth };
  const mmproj = syntheticProjector({ kind: 'mlp', ...shape });
  const model = await loadModel(path, { contextSize: 1024, parallel: 2, mmproj, verbose: true });
  const answers: Answers[string] = {};
  for (const [name, request] of Object.entries(asked)) {
    const next: Next[] = [];
    for await (const { id, logprobs } of model.generate({
      ...request,
      temperature: 0,
      topLogprobs: 20,
      maxTokens: 6,
    })) {
      next.push({ id, top: (logprobs?.top ?? []).map(({ id: token, logprob }) => [token, logprob]) });
    }
    answers[name] = next;
  }
  await model.close();
  return answers;
}

const demo = await answersOf(demoModelPath, 160, { ...requests, ...long });
// Without the long one: llvmpipe compiles the kernel that multiplies large matrices of floats for a minute.
const tiny = await answersOf(syntheticModel('tiny', ''), 64, requests);
console.log(JSON.stringify({ demo, tiny }));
