// How often the process of an engine writes to its server: once for each step, whatever the number of streams.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { EventsDecoder } from '../../ts/engine/child/frames.js';
import { SupervisedEngine } from '../../ts/engine/child/supervised-engine.js';
import { completeJob } from '../../ts/engine/job.js';
import { demoModelPath } from '../support/demo-model.js';

const STREAMS = 8;
const TOKENS = 300;

test('the tokens that a step gives to all streams come in one frame', async () => {
  let frames = 0;
  const { decode } = EventsDecoder.prototype;
  EventsDecoder.prototype.decode = function (...frame) {
    frames += 1;
    decode.apply(this, frame);
  };
  const engine = await SupervisedEngine.open(demoModelPath, { contextSize: 4096, parallel: STREAMS, threads: 1 });
  try {
    // These need no preparation, so that all of them are there at once.
    const prompts = Array.from({ length: STREAMS }, (_, at) => [40 + at, 60, 70]);
    const job = { maxTokens: TOKENS, ignoreEos: true, temperature: 1 };
    const streams = prompts.map((prompt, seed) => engine.submit(completeJob({ ...job, prompt, seed })));
    let tokens = 0;
    const count = (batch: readonly unknown[]) => {
      tokens += batch.length;
    };
    await Promise.all(streams.map((stream) => stream.forEachBatch(count)));
    const { decodeSteps } = await engine.stats();
    assert.is(tokens, STREAMS * TOKENS);
    // A job may begin or end between two steps.
    assert.ok(frames <= decodeSteps + 2, `${frames} frames of ${decodeSteps} steps`);
    // They are not told to begin in one step, so some may be ahead of others.
    assert.ok(frames < tokens / 2, `${frames} frames for ${tokens} tokens`);
  } finally {
    EventsDecoder.prototype.decode = decode;
    await engine.close();
  }
});

test.run();
