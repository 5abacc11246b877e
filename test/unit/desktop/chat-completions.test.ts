// How completions of chats are stored, and failures of the store.
import { EventEmitter, once } from 'node:events';
import { PassThrough } from 'node:stream';
import { mock } from 'node:test';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Chat, ChatMessage, CompletionEvent } from '../../../ts/desktop/api-types.js';
import { ChatCompletions } from '../../../ts/desktop/chat-completions.js';
import { EventBus } from '../../../ts/desktop/event-bus.js';
import type { ChatStore } from '../../../ts/desktop/store/chats.js';

const test = suite('desktop: stored completions');

const question = { id: 'q', parent: null, role: 'user', content: 'Hello' };
const chat = { id: 'c', model: 'm', systemPrompt: '', settings: {}, messages: [question] } as unknown as Chat;

function openCompletions(chats: object, body: AsyncIterable<Uint8Array>): ChatCompletions {
  return new ChatCompletions({
    chats: { read: () => chat, ...chats } as unknown as ChatStore,
    events: new EventBus(),
    request: async () => ({ statusCode: 200, body }),
    wantsTitles: () => false,
    mcpTools: async () => [],
    passages: { choose: async () => null },
  });
}

test('the first text is stored at once, and all further text a second later', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const stored: string[] = [];
    const addMessages = (_chat: string, { messages }: { messages: ChatMessage[] }) =>
      stored.push(messages[0]?.content ?? '');
    const reply = new PassThrough();
    const completions = openCompletions({ addMessages, updatedAt: () => 0 }, reply);
    completions.start('c', { id: 'a', parent: 'q' });
    const followed = new EventEmitter();
    completions.follow('c', ({ name }) => followed.emit(name));
    const say = async (content: string): Promise<void> => {
      const arrived = once(followed, 'delta');
      reply.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
      await arrived;
    };
    await say('One');
    assert.equal(stored, ['One']);
    await say(' two');
    await say(' three');
    mock.timers.tick(999);
    assert.equal(stored, ['One']);
    mock.timers.tick(1);
    assert.equal(stored, ['One', 'One two three']);
    reply.end();
    await completions.stop('c');
  } finally {
    mock.timers.reset();
  }
});

test('followers get the end of a completion whose chat cannot be read or written any more', async () => {
  const fail = (): never => {
    throw new Error('disk I/O error');
  };
  async function* reply(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n');
  }
  const completions = openCompletions({ updatedAt: fail, addMessages: fail }, reply());
  completions.start('c', { id: 'a', parent: 'q' });
  const events: CompletionEvent[] = [];
  completions.follow('c', (event) => events.push(event));
  await completions.stop('c');
  const end = events.at(-1);
  assert.is(end?.name === 'end' && end.data.message?.content, 'Hi');
  assert.is(end?.name === 'end' && end.data.error?.message, 'Could not save the completion: disk I/O error');
  assert.is(completions.runningIn('c'), null);
});

test('the end of a completion is stored once the disk has space again, unless its message was changed', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    for (const [kept, expected] of [
      ['H', ['Hi']],
      ['Edited', []],
    ] as const) {
      async function* reply(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n');
      }
      let isFull = true;
      const stored: string[] = [];
      const addMessages = (_chat: string, { messages }: { messages: ChatMessage[] }) => {
        if (isFull) throw new Error('database or disk is full');
        stored.push(messages[0]?.content ?? '');
      };
      const written = {
        ...chat,
        messages: [...chat.messages, { id: 'a', parent: 'q', role: 'assistant', content: kept }],
      };
      let read = chat;
      const completions = openCompletions({ read: () => read, updatedAt: () => 0, addMessages }, reply());
      completions.start('c', { id: 'a', parent: 'q' });
      await completions.stop('c');
      read = written as Chat;
      mock.timers.tick(5000);
      assert.equal(stored, []);
      isFull = false;
      mock.timers.tick(5000);
      mock.timers.tick(5000);
      assert.equal(stored, expected, kept);
    }
  } finally {
    mock.timers.reset();
  }
});

test.run();
