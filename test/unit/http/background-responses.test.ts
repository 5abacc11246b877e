import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BackgroundResponses } from '../../../ts/api/openai/responses/background-responses.js';
import { newResponse } from '../../../ts/api/openai/responses/new-response.js';
import { ChasquiError } from '../../../ts/errors.js';
import { NEUTRAL_SAMPLING } from '../../../ts/options/sampling-table.js';

const test = suite('unit: responses in the background');
const MIB = 2 ** 20;

function workOf(length: number) {
  const response = newResponse({ model: 'm', input: '' }, 'm', NEUTRAL_SAMPLING, true);
  const compute = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  return { current: () => response, length, begin: () => [], compute };
}

const isFull = (error: unknown) => error instanceof ChasquiError && error.code === 'queue_full';

test('are bounded in what they hold, and in number', async () => {
  const background = new BackgroundResponses();
  const large = workOf(40 * MIB);
  background.start('a', large);
  assert.throws(() => background.start('b', workOf(30 * MIB)), isFull);
  await background.cancel('a', large.current().id);
  for (let n = 0; n < 256; n += 1) background.start('a', workOf(1));
  assert.throws(() => background.start('b', workOf(1)), isFull);
  await background.close(new ChasquiError('engine_closed', 'The server stops.'));
  background.start('b', workOf(30 * MIB));
});

test('a background response that cannot begin takes no place', async () => {
  const background = new BackgroundResponses();
  let computed = 0;
  const compute = async () => {
    computed += 1;
  };
  const fail = () => {
    throw new ChasquiError('store_failed', 'The disk is full.');
  };
  const isStore = (error: unknown) => error instanceof ChasquiError && error.code === 'store_failed';
  for (const keepsEvents of [false, true]) {
    const work = { ...workOf(60 * MIB), begin: fail, compute, keepsEvents };
    const { id } = work.current();
    assert.throws(() => background.start('a', work), isStore);
    assert.equal([computed, background.get('a', id), background.events('a', id)], [0, null, null]);
  }
});

test.run();
