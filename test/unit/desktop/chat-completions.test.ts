// Completions of chats that cannot be stored.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Chat, CompletionEvent } from '../../../ts/desktop/api-types.js';
import { ChatCompletions } from '../../../ts/desktop/chat-completions.js';
import { EventBus } from '../../../ts/desktop/event-bus.js';
import type { ChatStore } from '../../../ts/desktop/store/chats.js';

const test = suite('desktop: completions and failures of the store');

test('followers get the end of a completion whose chat cannot be read or written any more', async () => {
  const question = { id: 'q', parent: null, role: 'user', content: 'Hello' };
  const chat = { id: 'c', model: 'm', systemPrompt: '', settings: {}, messages: [question] } as unknown as Chat;
  const fail = (): never => {
    throw new Error('disk I/O error');
  };
  const chats = { read: () => chat, updatedAt: fail, addMessages: fail } as unknown as ChatStore;
  async function* reply(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n');
  }
  const request = async () => ({ statusCode: 200, body: reply() });
  const completions = new ChatCompletions({
    chats,
    events: new EventBus(),
    request,
    wantsTitles: () => false,
    mcpTools: async () => [],
  });
  completions.start('c', { id: 'a', parent: 'q' });
  const events: CompletionEvent[] = [];
  completions.follow('c', (event) => events.push(event));
  await completions.stop('c');
  const end = events.at(-1);
  assert.is(end?.name === 'end' && end.data.message?.content, 'Hi');
  assert.is(end?.name === 'end' && end.data.error?.message, 'Could not save the completion: disk I/O error');
  assert.is(completions.runningIn('c'), null);
});

test.run();
