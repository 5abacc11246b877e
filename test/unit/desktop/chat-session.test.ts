// What becomes of a chat when another is opened while the app has not replied yet.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Chat } from '../../../ts/desktop/api-types.js';

interface Session {
  readonly id: { readonly value: string | null };
  readonly current: { readonly value: string | null };
  open(id: string | null): Promise<void>;
  send(content: string, images: readonly string[]): Promise<void>;
}

// It is for browsers, whose types these tests do not have.
const file = new URL('../../../ts/desktop/ui/state/chat-session.ts', import.meta.url).href;
const { ChatSession } = (await import(file)) as { ChatSession: new () => Session };

const test = suite('desktop: a chat and another one');

/** Replies when it is told to, to each request that was sent, by its method and path. */
class SlowApp {
  readonly sent: string[] = [];
  readonly #waiting: { call: string; reply: (body: unknown) => void }[] = [];

  fetch = (path: string, { method = 'GET', signal }: RequestInit): Promise<Response> => {
    const call = `${method} ${path}`;
    this.sent.push(call);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) reject(new DOMException('', 'AbortError'));
      signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
      if (path.startsWith('/api/v1/chats?') || path === '/api/v1/chats')
        resolve(Response.json({ chats: [], id: 'new' }));
      else this.#waiting.push({ call, reply: (body) => resolve(Response.json(body)) });
    });
  };

  async reply(call: string, body: unknown): Promise<void> {
    const at = this.#waiting.findIndex((each) => each.call === call);
    this.#waiting.splice(at, 1)[0]?.reply(body);
    await settled();
  }
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 10));

const usual = globalThis.fetch;
let app: SlowApp;
test.before.each(() => {
  app = new SlowApp();
  globalThis.fetch = app.fetch as typeof fetch;
});
test.after(() => {
  globalThis.fetch = usual;
});

function chat(id: string): Chat {
  const message = { id: `${id}1`, parent: null, role: 'user', content: id, createdAt: 0 } as const;
  const header = { title: id, model: null, systemPrompt: '', settings: {} };
  return { id, ...header, messages: [message], current: message.id, createdAt: 0, updatedAt: 0 } as unknown as Chat;
}

test('of two chats that are opened one after the other the second is shown, whichever comes first', async () => {
  const session = new ChatSession();
  const both = Promise.all([session.open('a'), session.open('b')]);
  await app.reply('GET /api/v1/chats/b', chat('b'));
  await app.reply('GET /api/v1/chats/a', chat('a'));
  await both;
  assert.is(session.id.value, 'b');
});

test('who goes back to the chat that is shown does not get the one that was being read', async () => {
  const session = new ChatSession();
  const opened = session.open('a');
  await app.reply('GET /api/v1/chats/a', chat('a'));
  await opened;
  const both = Promise.all([session.open('b'), session.open('a')]);
  await app.reply('GET /api/v1/chats/b', chat('b'));
  await both;
  assert.is(session.id.value, 'a');
});

test('a question that is being stored when another chat is opened changes nothing in that one', async () => {
  const session = new ChatSession();
  const opened = session.open('a');
  await app.reply('GET /api/v1/chats/a', chat('a'));
  await opened;
  const asked = session.send('And then?', []);
  const other = session.open('b');
  await app.reply('GET /api/v1/chats/b', chat('b'));
  await other;
  await app.reply('PUT /api/v1/chats/a', {});
  await app.reply('POST /api/v1/chats/a/messages', {});
  await asked;
  assert.equal([session.id.value, session.current.value], ['b', 'b1']);
  assert.ok(!app.sent.some((call) => /^(PUT|POST) .*chats\/b/.test(call)), app.sent.join(', '));
});

test.run();
