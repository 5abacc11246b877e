// Calls in the preparation process: each is watched, and only data is returned.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallArgs, CallName } from '../../../ts/engine/calls.js';
import { PreparerTarget } from '../../../ts/engine/child/preparer-target.js';
import type { NativePreparer } from '../../../ts/native/addon.js';

const test = suite('unit: calls in the preparation process');

const NAMES: CallName[] = [
  'tokenize',
  'tokenizeTextPrompt',
  'tokenizeInfill',
  'tokenizeInputs',
  'tokenizePairs',
  'pieces',
  'render',
  'compileGrammar',
];

function prepared(format: unknown = null) {
  const log: string[] = [];
  let isWatched = false;
  const answers = (name: string) => async () => {
    log.push(`${name}${isWatched ? '' : ', not watched'}`);
    return name === 'render' ? { format } : [{ opaque: name }];
  };
  const preparer = {
    ...Object.fromEntries(NAMES.map((name) => [name, answers(name)])),
    cancelPreparation: (owner: number) => void log.push(`cancel ${owner}`),
  } as unknown as NativePreparer;
  const openParser = (given: unknown) => {
    if (given === 'bad') throw new Error('no such parser');
    log.push(`parser ${given}`);
  };
  const target = new PreparerTarget(preparer, openParser, async (work) => {
    isWatched = true;
    try {
      return await work();
    } finally {
      isWatched = false;
    }
  });
  const run = (name: CallName, ...args: unknown[]) => target.run(name, args as CallArgs<CallName>, 1);
  return { run, target, log };
}

test('everything that prepares is watched', async () => {
  const { run, target, log } = prepared();
  for (const name of NAMES) await run(name);
  assert.equal(log, NAMES);
  target.cancelOwner(3);
  assert.is(log.at(-1), 'cancel 3');
});

test('a compiled grammar stays here', async () => {
  const { run } = prepared();
  assert.equal(await run('compileGrammar', {}, 2), []);
});

test('a format is tried before it is handed out', async () => {
  const good = prepared('good');
  assert.equal(await good.run('render', '{}'), { format: 'good' });
  assert.equal(good.log, ['render', 'parser good']);
  const bad = prepared('bad');
  const error = await bad.run('render', '{}').catch((thrown) => thrown);
  assert.match((error as Error).message, /no such parser/);
});

test.run();
