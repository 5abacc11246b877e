import { seededRandom } from '../../test/support/seeded-random.js';
import { type LoadOptions, loadModel, type Model } from '../../ts/index.js';
import { type Figures, figuresOf, type StreamTimes, type Subject, type Work } from '../work.js';

/** chasqui in this process, read token by token. */
export async function engine(
  modelPath: string,
  threads: number,
  work: Work,
  backend: Exclude<LoadOptions['backend'], undefined> = 'auto',
): Promise<Subject> {
  const model = await loadModel(modelPath, {
    threads,
    backend,
    parallel: work.streams,
    contextSize: work.promptTokens + work.predictTokens,
    // The bare loop has no drafts.
    draftMax: 0,
  });
  return {
    name: 'engine, in-process',
    run: (each, round) => runStreams(model, each, round),
    close: () => model.close(),
  };
}

async function runStreams(model: Model, work: Work, round: number): Promise<Figures> {
  const random = seededRandom(round);
  const prompts = Array.from({ length: work.streams }, () =>
    Array.from({ length: work.promptTokens }, () => Math.floor(random() * model.model.vocabularySize)),
  );
  const start = performance.now();
  return figuresOf(await Promise.all(prompts.map((prompt) => runStream(model, prompt, work, start))));
}

async function runStream(model: Model, prompt: number[], work: Work, start: number): Promise<StreamTimes> {
  let firstTokenMs = 0;
  let tokens = 0;
  const request = { prompt, temperature: 0, maxTokens: work.predictTokens, ignoreEos: true };
  for await (const _ of model.generate(request)) {
    if (tokens++ === 0) firstTokenMs = performance.now() - start;
  }
  return { firstTokenMs, lastTokenMs: performance.now() - start, tokens };
}
