// What a server may call in the process that prepares requests: each call is watched, and only data goes back.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { preparationMethods } from '../../../ts/engine/child/preparation-methods.js';
import type { NativePreparer } from '../../../ts/native/addon.js';

const test = suite('unit: calls in the process that prepares requests');

const NAMES = [
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
  const methods = preparationMethods(preparer, openParser, async (work) => {
    isWatched = true;
    try {
      return await work();
    } finally {
      isWatched = false;
    }
  });
  return { methods, log };
}

test('everything that prepares is watched', async () => {
  const { methods, log } = prepared();
  for (const name of NAMES) await methods[name]?.();
  assert.equal(log, NAMES);
  methods.cancelPreparation?.(3);
  assert.is(log.at(-1), 'cancel 3');
});

test('a compiled grammar stays here', async () => {
  const { methods } = prepared();
  assert.equal(await methods.compileGrammar?.({}, 2, 1), []);
});

test('a format is tried before it is handed out', async () => {
  const good = prepared('good');
  assert.equal(await good.methods.render?.('{}', 1), { format: 'good' });
  assert.equal(good.log, ['render', 'parser good']);
  const bad = prepared('bad');
  const error = await Promise.resolve(bad.methods.render?.('{}', 1)).catch((thrown) => thrown);
  assert.match((error as Error).message, /no such parser/);
});

test.run();
