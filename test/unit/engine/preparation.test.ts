import { setMaxListeners } from 'node:events';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { submitChoices } from '../../../ts/api/shared/completion/stream-reply.js';
import type { AdapterUse } from '../../../ts/engine/adapter-file.js';
import { OwnedCalls } from '../../../ts/engine/calls.js';
import type { ModelInfo } from '../../../ts/engine/engine.js';
import { completeJob, grammarOf } from '../../../ts/engine/job.js';
import type { LoadOptions } from '../../../ts/engine/load-options.js';
import { Model } from '../../../ts/engine/model.js';
import type { NativeConstraint, NativeJob } from '../../../ts/native/addon.js';
import { NEUTRAL_SAMPLING } from '../../../ts/options/sampling-table.js';
import { fakeCore } from '../../support/fake-core.js';
import { FakeEngine } from '../../support/fake-engine.js';

const never = new Promise<never>(() => {});

/** Notes the owners of calls, which `settle` or never end. */
function recorded(settle: boolean) {
  const owners: number[] = [];
  const cancelled: number[] = [];
  class Recorded extends OwnedCalls {
    override run(_method: string, _args: unknown, owner: number): Promise<never> {
      owners.push(owner);
      return settle ? Promise.resolve(undefined as never) : never;
    }
    override cancelOwner(owner: number): void {
      cancelled.push(owner);
    }
  }
  const target = new Recorded();
  const call = (signal?: AbortSignal) => target.call('tokenize', ['a', false, false], { signal });
  return { call, owners, cancelled };
}

test('calls that share a signal share an owner; calls without one have their own', async () => {
  const { call, owners } = recorded(true);
  const [one, other] = [new AbortController().signal, new AbortController().signal];
  for (const signal of [one, other, one, undefined, undefined]) await call(signal);
  assert.is(owners[0], owners[2]);
  assert.is(new Set(owners).size, 4);
});

test('an abort rejects at once with its reason and ends the work of its owner', async () => {
  const { call, owners, cancelled } = recorded(false);
  const gone = new AbortController();
  const work = call(gone.signal);
  await settled();
  gone.abort(new Error('gone'));
  for (const aborted of [work, call(gone.signal)]) {
    await aborted.then(
      () => assert.unreachable(),
      (error: Error) => assert.is(error.message, 'gone'),
    );
  }
  assert.equal(cancelled, owners);
  assert.is(owners.length, 1, 'what is aborted is not asked for');
});

/** A model with a native engine that records its calls. */
function counted(options: LoadOptions = {}, more: Partial<ModelInfo> = {}) {
  const asked: string[] = [];
  const submitted: [NativeJob, NativeConstraint | null][] = [];
  const native = {
    tokenizePrompt: async (prompt: string) => {
      asked.push(`tokenize ${prompt}`);
      return { tokens: Int32Array.of(1, 2), media: null };
    },
    compileGrammar: async ({ gbnf }: { gbnf: string }, copies: number) => {
      asked.push(`compile ${gbnf} ${copies}`);
      return Array.from({ length: copies }, () => ({}) as NativeConstraint);
    },
    submit: (job: NativeJob, constraint: NativeConstraint | null) => submitted.push([job, constraint]),
    cancel: () => {},
  };
  const { model: info } = new FakeEngine();
  const model = new Model(fakeCore(native), new Map(), { ...info, ...more }, { maxQueue: 256, ...options });
  return { asked, submitted, model };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

test('the choices of a request are prepared once', async () => {
  const { asked, submitted, model } = counted();
  const job = completeJob({ prompt: 'Hello', grammar: grammarOf('root ::= "a"'), seed: 7 });
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  submitChoices(model, job, 128, { signal });
  await settled();
  assert.equal(asked, ['tokenize Hello', 'compile root ::= "a" 128']);
  assert.is(submitted.length, 128);
  assert.is(new Set(submitted.map(([, constraint]) => constraint)).size, 128, 'a grammar for each');
  assert.is(new Set(submitted.map(([{ sampling }]) => sampling.seed)).size, 128);
});

test('repeatable completions are drafted from the text only if drafts were asked for', async () => {
  const jobs = [
    completeJob({ prompt: 'Hello' }),
    completeJob({ prompt: 'Hello', temperature: 0 }),
    completeJob({ prompt: 'Hello', topK: 1 }),
    completeJob({ prompt: 'Hello', seed: 0 }),
    completeJob({ prompt: 'Hello' }, { ...NEUTRAL_SAMPLING, seed: 7 }),
  ];
  const drafted = async (options: LoadOptions, info: Partial<ModelInfo> = {}, adapters: AdapterUse[] = []) => {
    const { submitted, model } = counted(options, info);
    for (const job of jobs) model.submit({ ...job, adapters });
    submitChoices(model, { ...completeJob({ prompt: 'Hello', seed: 7 }), adapters }, 2, {});
    await settled();
    return submitted.map(([{ draftsFromText }]) => draftsFromText);
  };
  assert.equal(await drafted({}), [true, false, false, false, false, false, false]);
  for (const options of [{ draftMax: 8 }, { draftModel: 'small.gguf' }]) {
    assert.equal(await drafted(options), [true, true, true, false, false, false, false]);
  }
  assert.equal(await drafted({}, { batchInvariant: true }), Array(7).fill(true), 'where it is the same all the same');
  const adapters = [{ adapter: 0, scale: 1 }];
  const asElsewhere = [true, false, false, false, false, false, false];
  assert.equal(await drafted({}, { batchInvariant: true }, adapters), asElsewhere, 'nobody asked about their nodes');
});

test('other requests are prepared for themselves', async () => {
  const { asked, submitted, model } = counted();
  const job = completeJob({ prompt: 'Hello' });
  submitChoices(model, job, 2, {});
  submitChoices(model, job, 1, {});
  model.submit(job);
  await settled();
  assert.equal(asked, ['tokenize Hello', 'tokenize Hello', 'tokenize Hello']);
  assert.is(submitted.length, 4);
});

test.run();
