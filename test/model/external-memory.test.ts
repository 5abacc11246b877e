// Native memory of JavaScript objects is reported to V8 so that it triggers garbage collection. `process.memoryUsage()`
// does not show reported memory, so these tests observe its effect.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { EngineCore } from '../../ts/engine/core.js';
import type { ModelInfo } from '../../ts/engine/engine.js';
import { grammarOf } from '../../ts/engine/job.js';
import type { LoadOptions } from '../../ts/engine/load-options.js';
import { openLocal } from '../../ts/engine/local/open-local.js';
import { demoModelPath } from '../support/demo-model.js';
import { picture } from '../support/picture.js';
import { syntheticProjector } from '../support/synthetic-projector.js';

/** Creates many unreferenced objects and returns the share that V8 collects on its own. */
async function shareCollected(
  options: LoadOptions,
  count: number,
  make: (core: EngineCore, info: ModelInfo) => Promise<object>,
) {
  let collected = 0;
  const registry = new FinalizationRegistry(() => {
    collected += 1;
  });
  const { core, info } = await openLocal(demoModelPath, { contextSize: 512, threads: 1, ...options }, {}, () => {});
  try {
    for (let made = 0; made < count; made += 1) {
      registry.register(await make(core, info), null);
      await new Promise(setImmediate);
    }
    return collected / count;
  } finally {
    await core.close();
  }
}

test('prompts whose images nobody holds any more are collected', async () => {
  const shape = { imageSize: 64, patchSize: 8, layers: 2, width: 64, hidden: 128, heads: 2 };
  const mmproj = syntheticProjector({ kind: 'mlp', modelWidth: 160, ...shape });
  const images = [picture(1, 2048, 2048)];
  const share = await shareCollected({ mmproj }, 60, async (core, info) => {
    const { media } = await core.call('tokenizePrompt', [info.imageMarker ?? '', images]);
    return media as object;
  });
  assert.ok(share > 0.4, `${share} of 60 are collected`);
});

test('so are compiled grammars', async () => {
  const grammar = grammarOf(`root ::= "${'x'.repeat(500_000)}"`);
  const share = await shareCollected({}, 30, (core) => core.call('compileGrammar', [grammar, 8]));
  assert.ok(share > 0.4, `${share} of 30 are collected`);
});

test.run();
