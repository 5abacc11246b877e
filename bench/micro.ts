import { Bench } from 'tinybench';
import { loadModel } from '../ts/index.js';
import { table } from './table.js';

const TOOL = {
  name: 'look_up',
  description: 'Looks a word up.',
  parameters: {
    type: 'object',
    properties: { word: { type: 'string' }, page: { type: 'integer' } },
    required: ['word'],
  },
};

/** Cost of JavaScript and of the chat template per request, in microseconds. */
export async function microTable(modelPath: string): Promise<string> {
  const model = await loadModel(modelPath, { contextSize: 256, parallel: 1, threads: 1 });
  const messages = [
    { role: 'system' as const, content: 'You are a helpful assistant.' },
    { role: 'user' as const, content: 'Which endpoints does chasqui have, and what does each of them do?' },
  ];
  const bench = new Bench({ time: 500, warmupTime: 100 });
  const { prompt } = await model.render(messages);
  bench
    .add('render two messages', () => model.render(messages))
    .add('render them with a tool', () => model.render(messages, { tools: [TOOL] }))
    .add('tokenize them', () => model.tokenize(prompt))
    .add('a job of one token, from submit to finish', async () => {
      for await (const _ of model.generate({ prompt: [50], maxTokens: 1 }));
    });
  await bench.run();
  await model.close();
  return table(
    ['per call', 'median, µs', '99th percentile, µs'],
    bench.tasks.map(({ name, result }) => {
      if (result?.state !== 'completed') throw new Error(`${name} did not run: ${result?.state}`);
      return [name, (1000 * result.latency.p50).toFixed(1), (1000 * result.latency.p99).toFixed(1)];
    }),
  );
}
