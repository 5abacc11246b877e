// Titles that the model writes for chats.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Chat } from '../../../ts/desktop/api-types.js';
import { ChatTitles, toTitle } from '../../../ts/desktop/chat-titles.js';
import type { ChatStore } from '../../../ts/desktop/store/chats.js';

const test = suite('desktop: titles of chats');

const question = { id: 'q', parent: null, role: 'user', content: 'How tall is it?' };
const answer = { id: 'a', parent: 'q', role: 'assistant', content: 'Six metres.' };
const fresh = { id: 'c', title: 'How tall is it?', model: 'm', messages: [question, answer] } as unknown as Chat;

/** Returns the title after the model replied, and the number of its requests. */
async function titled(given: Partial<Chat>, act: (titles: ChatTitles, chat: Chat) => unknown = () => {}, wants = true) {
  const chat = { ...fresh, ...given };
  let requests = 0;
  const chats = {
    read: () => ({ ...chat }),
    change: (_id: string, change: Partial<Chat>) => Object.assign(chat, change),
  } as unknown as ChatStore;
  async function* reply(): AsyncGenerator<Uint8Array> {
    requests += 1;
    await act(titles, chat);
    yield Buffer.from('data: {"choices":[{"delta":{"content":"**Height**"},"finish_reason":"stop"}]}\n\n');
  }
  const request = async (_body: object, signal: AbortSignal) => {
    signal.throwIfAborted();
    return { statusCode: 200, body: reply() };
  };
  const titles = new ChatTitles({ chats, request, wantsTitles: () => wants });
  await new Promise<void>((resolve) => {
    titles.start('c', resolve);
    // Without a title, `changed` is not called.
    setImmediate(() => setImmediate(() => setImmediate(resolve)));
  });
  return { title: chat.title, requests };
}

test('a chat with its first words as the title gets another after one completion', async () => {
  assert.equal(await titled({}), { title: 'Height', requests: 1 });
  assert.equal(await titled({ title: 'How tall …' }), { title: 'Height', requests: 1 });
  assert.equal(await titled({ title: 'Own' }), { title: 'Own', requests: 0 });
  assert.equal(await titled({ title: '' }), { title: '', requests: 0 });
  const longer = [...fresh.messages, { ...question, id: 'r', parent: 'a' }] as Chat['messages'];
  assert.is((await titled({ messages: longer })).requests, 0);
  assert.is((await titled({}, undefined, false)).requests, 0);
});

test('a title that the user wrote meanwhile stays, and a stopped one is not stored', async () => {
  const renamed = await titled({}, (_titles, chat) => {
    chat.title = 'Mine';
  });
  assert.equal(renamed, { title: 'Mine', requests: 1 });
  const stopped = await titled({}, (titles) => void titles.stop('c'));
  assert.equal(stopped, { title: fresh.title, requests: 1 });
});

test('a title is one line without marks', () => {
  for (const [text, title] of [
    ['\n"The **Andes**"\nmore', 'The **Andes'],
    ['# Title: Runners.', 'Runners'],
    ['“Über Läufer”', 'Über Läufer'],
    ['...\n', ''],
    ['a'.repeat(100), `${'a'.repeat(78)} …`],
  ] as const) {
    assert.is(toTitle(text), title);
  }
});

test.run();
