/**
 * Loads the demo model and its projector with each of the options in its argument, and prints the devices and the next
 * token, or the error. Run by `offload.test.ts`.
 */
import { type ChasquiError, type LoadOptions, loadModel } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import type { Next } from './compute.js';

async function outcomeOf(options: LoadOptions): Promise<object> {
  const model = await loadModel(demoModelPath, { contextSize: 512, parallel: 1, verbose: true, ...options });
  const next: Next[] = [];
  const request = { prompt: [40, 47, 54, 61], temperature: 0, topLogprobs: 20, maxTokens: 6 };
  for await (const { id, logprobs } of model.generate(request)) {
    next.push({ id, top: (logprobs?.top ?? []).map(({ id: token, logprob }) => [token, logprob]) });
  }
  const { placement, unfitted } = model.model;
  await model.close();
  return { placement, unfitted, next };
}

const outcomes: object[] = [];
for (const options of JSON.parse(process.argv[2] ?? '[]')) {
  outcomes.push(await outcomeOf(options).catch(({ code, message }: ChasquiError) => ({ code, message })));
  console.error('-- next --');
}
console.log(JSON.stringify(outcomes));
