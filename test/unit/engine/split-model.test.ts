// Distribution of calls to the two processes: texts, templates and grammars reach the preparation before the engine.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Caller } from '../../../ts/engine/calls.js';
import { SplitCalls } from '../../../ts/engine/child/supervised-engine.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('unit: an engine of two processes');

function split({ generates = true, refuses = '' } = {}) {
  const log: string[] = [];
  const played = (name: string) => {
    const asked = async (method: string, args: readonly unknown[]) => {
      log.push(`${name} ${method} ${JSON.stringify(args)}`);
      if (name === 'preparation' && method === refuses) throw new ChasquiError('prepare_timeout', 'too long');
      return `${name}'s`;
    };
    return { call: asked } as unknown as Caller;
  };
  return { core: new SplitCalls(played('worker'), played('preparation').call, { contextLength: 77, generates }), log };
}

test('calls without weights run in the preparation process, others in the worker', async () => {
  const { core, log } = split();
  await core.call('render', ['{}']);
  await core.call('tokenize', ['a', true, false]);
  await core.call('tokenizeInfill', ['a', 'b']);
  await core.call('tokenizeInputs', [['a'], 5]);
  await core.call('tokenizePairs', ['a', ['b'], 5]);
  await core.call('pieces', [Int32Array.of(1)]);
  assert.equal(
    log.splice(0).map((line) => line.split(' ')[0]),
    Array(6).fill('preparation'),
  );
  await core.call('embed', [new Int32Array(1), new Int32Array(1)]);
  await core.call('stats', []);
  assert.equal(
    log.map((line) => line.split(' ')[0]),
    Array(2).fill('worker'),
  );
});

test('a prompt is tokenized for the context of the engine; one with images by both, the engine last', async () => {
  const { core, log } = split();
  assert.equal(await core.call('tokenizePrompt', ['a', []]), { tokens: "preparation's" as never, media: null });
  assert.equal(log.splice(0), ['preparation tokenizeTextPrompt ["a",77]']);
  assert.is(await core.call('tokenizePrompt', ['b', [{ bytes: new Uint8Array() }]]), "worker's" as never);
  assert.equal(
    log.map((line) => line.split(' ').slice(0, 2).join(' ')),
    ['preparation tokenizeTextPrompt', 'worker tokenizePrompt'],
  );
});

test('a grammar is compiled by both, the engine last', async () => {
  const { core, log } = split();
  assert.is(await core.call('compileGrammar', [{} as never, 2]), "worker's" as never);
  assert.equal(log, ['preparation compileGrammar [{},2]', 'worker compileGrammar [{},2]']);
});

test('failed preparations never reach the worker', async () => {
  const prompt = split({ refuses: 'tokenizeTextPrompt' });
  const image = { bytes: new Uint8Array() };
  assert.is((await prompt.core.call('tokenizePrompt', ['a', [image]]).catch((error) => error)).code, 'prepare_timeout');
  const grammar = split({ refuses: 'compileGrammar' });
  assert.is(
    (await grammar.core.call('compileGrammar', [{} as never, 1]).catch((error) => error)).code,
    'prepare_timeout',
  );
  for (const { log } of [prompt, grammar]) assert.not(log.some((line) => line.startsWith('worker')));
});

test('the worker reports that a model generates nothing', async () => {
  const { core, log } = split({ generates: false });
  await core.call('tokenizePrompt', ['a', []]);
  assert.equal(log, ['worker tokenizePrompt ["a",[]]']);
});

test.run();
