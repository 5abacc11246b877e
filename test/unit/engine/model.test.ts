import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { completeJob, grammarOfSchema } from '../../../ts/engine/job.js';
import { Model } from '../../../ts/engine/model.js';
import { ChasquiError } from '../../../ts/errors.js';
import type { NativeConstraint } from '../../../ts/native/addon.js';
import { fakeCore } from '../../support/fake-core.js';
import { FakeEngine } from '../../support/fake-engine.js';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('siblings whose preparation failed are prepared once more where they are submitted again', async () => {
  const restarting = new ChasquiError('engine_restarting', 'The preparation process ended. Try again in a moment.');
  const failures = [restarting];
  const compiled: number[] = [];
  const constraints: (NativeConstraint | null)[] = [];
  const core = fakeCore({
    tokenizePrompt: async () => ({ tokens: Int32Array.of(1), media: null }),
    compileGrammar: async (_grammar: unknown, copies: number) => {
      const failure = failures.shift();
      if (failure) throw failure;
      compiled.push(copies);
      return Array.from({ length: copies }, () => ({}) as NativeConstraint);
    },
    submit: (_job: unknown, constraint: NativeConstraint | null) => void constraints.push(constraint),
  });
  const model = new Model(core, new Map(), new FakeEngine().model, {});
  const job = completeJob({ prompt: 'Hi', grammar: grammarOfSchema({ type: 'integer' }) });
  const siblings = { count: 2 };
  for (const failed of [model.submit(job, { siblings }), model.submit(job, { siblings })]) {
    await failed.next().then(
      () => assert.unreachable(),
      (error) => assert.is(error.code, 'engine_restarting'),
    );
  }
  for (let n = 0; n < siblings.count; n += 1) model.submit(job, { siblings });
  await turn();
  assert.equal(compiled, [2]);
  assert.equal(constraints, [{}, {}]);
});

test.run();
