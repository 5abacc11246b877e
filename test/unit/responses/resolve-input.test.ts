import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newResponse } from '../../../ts/api/openai/responses/new-response.js';
import { resolveInput } from '../../../ts/api/openai/responses/resolve-input.js';
import type { ResponsesRequest } from '../../../ts/api/openai/responses/schema.js';
import { MemoryStore } from '../../../ts/api/openai/responses/store/memory-store.js';
import { asConversation, asResponse } from '../../../ts/api/openai/responses/store/response-store.js';
import { ChasquiError } from '../../../ts/errors.js';
import { NEUTRAL_SAMPLING } from '../../../ts/options/sampling-table.js';

const test = suite('unit: stored items of a request');

/** With the responses `r0`, `r1` and so on, each after the one before, and each with one item of this text. */
function storeOf(count: number, text: string) {
  const store = new MemoryStore();
  for (let n = 0; n < count; n += 1) {
    const previous = n === 0 ? {} : { previous_response_id: `r${n - 1}` };
    const response = newResponse({ model: 'm', input: '', ...previous }, 'm', NEUTRAL_SAMPLING, true);
    const input = [{ type: 'message' as const, id: `i${n}`, role: 'user' as const, content: text }];
    store.put('me', { response: { ...response, id: `r${n}`, status: 'completed' }, input });
  }
  let reads = 0;
  const own = {
    get: (id: string) => {
      reads += 1;
      return asResponse(store.read('me', id));
    },
    conversation: (id: string) => asConversation(store.read('me', id)),
    holderOf: (id: string) => store.holderOf('me', id),
  };
  return { own, store, reads: () => reads };
}

const referring = (...ids: string[]): ResponsesRequest => ({
  model: 'm',
  input: ids.map((id) => ({ type: 'item_reference', id })),
});

const tooLong = (error: unknown) =>
  error instanceof ChasquiError && error.code === 'invalid_value' && /too many stored items/.test(error.message);

test('a response is read once, however many of its items are referred to', () => {
  const { own, reads } = storeOf(1, 'Hi');
  assert.is(resolveInput(referring('i0', 'i0', 'i0'), own).items.length, 3);
  assert.is(reads(), 1);
});

test('a small request cannot become a huge one: what it refers to is counted each time', () => {
  const { own } = storeOf(1, 'x'.repeat(2 ** 20));
  assert.is(resolveInput(referring(...Array<string>(10).fill('i0')), own).items.length, 10);
  assert.throws(() => resolveInput(referring(...Array<string>(100).fill('i0')), own), tooLong);
});

test('nor refer to any number of items', () => {
  const { own } = storeOf(1, 'Hi');
  assert.throws(() => resolveInput(referring(...Array<string>(2001).fill('i0')), own), tooLong);
});

test('earlier items of a response are counted', () => {
  const short = storeOf(1001, 'Hi').own;
  const after = (id: string): ResponsesRequest => ({ model: 'm', input: 'Go on', previous_response_id: id });
  assert.is(resolveInput(after('r999'), short).items.length, 1001);
  assert.throws(() => resolveInput(after('r1000'), short), tooLong);
  const long = storeOf(40, 'x'.repeat(2 ** 20)).own;
  assert.throws(() => resolveInput(after('r39'), long), tooLong);
});

test('a conversation is counted as well', () => {
  const { own, store } = storeOf(1, 'Hi');
  const item = { type: 'message' as const, role: 'user' as const, content: 'x'.repeat(2 ** 20) };
  const conversation = { id: 'c', object: 'conversation' as const, created_at: 0, metadata: {} };
  const put = (count: number) =>
    store.put('me', { conversation, items: Array.from({ length: count }, (_, n) => ({ ...item, id: `m${n}` })) });
  const request: ResponsesRequest = { model: 'm', input: 'Go on', conversation: 'c' };
  put(8);
  assert.is(resolveInput(request, own).items.length, 9);
  assert.throws(
    () => resolveInput({ ...request, input: referring(...Array<string>(30).fill('m0')).input }, own),
    tooLong,
  );
  put(40);
  assert.throws(() => resolveInput(request, own), tooLong);
});

test.run();
