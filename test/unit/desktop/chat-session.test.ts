// Switching to another chat before the app has replied.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Chat } from '../../../ts/desktop/api-types.js';

interface Session {
  readonly messages: { readonly value: readonly { readonly content: string }[] };
  readonly id: { readonly value: string | null };
  readonly current: { readonly value: string | null };
  open(id: string | null): Promise<void>;
  send(content: string, images: readonly string[]): Promise<void>;
}

// A browser module; these tests have no DOM types.
const file = new URL('../../../ts/desktop/ui/state/chat-session.ts', import.meta.url).href;
const { ChatSession } = (await import(file)) as { ChatSession: new () => Session };

const test = suite('desktop: a chat and another one');

/** Replies when it is told to, to each request that was sent, by its method and path. */
class SlowApp {
  readonly sent: string[] = [];
  /** The bodies of what was sent, in the same order. */
  readonly bodies: unknown[] = [];
  createsSlowly = false;
  readonly #waiting: { call: string; reply: (body: unknown) => void }[] = [];

  fetch = (path: string, { method = 'GET', body, signal }: RequestInit): Promise<Response> => {
    const call = `${method} ${path}`;
    this.sent.push(call);
    this.bodies.push(typeof body === 'string' ? JSON.parse(body) : undefined);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) reject(new DOMException('', 'AbortError'));
      signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
      if (/^GET \/api\/v1\/chats(\?|$)/.test(call) || (call === 'POST /api/v1/chats' && !this.createsSlowly))
        resolve(Response.json({ chats: [], id: 'new' }));
      else if (path === '/app/v1/chat/completions') resolve(new Response(beginning(signal)));
      else this.#waiting.push({ call, reply: (body) => resolve(Response.json(body)) });
    });
  };

  async reply(call: string, body: unknown): Promise<void> {
    await settled();
    const at = this.#waiting.findIndex((each) => each.call === call);
    this.#waiting.splice(at, 1)[0]?.reply(body);
    await settled();
  }
}

/** A completion that sends one word and then waits until it is aborted. */
function beginning(signal: AbortSignal | null | undefined): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(stream) {
      signal?.addEventListener('abort', () => stream.error(new DOMException('', 'AbortError')));
      const chunk = { choices: [{ delta: { content: 'Because' } }] };
      stream.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\n`));
    },
  });
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 10));

const usual = globalThis.fetch;
let app: SlowApp;
test.before(() => {
  Object.assign(globalThis, { document: { hidden: true } });
});
test.before.each(() => {
  app = new SlowApp();
  globalThis.fetch = app.fetch as typeof fetch;
});
test.after(() => {
  Reflect.deleteProperty(globalThis, 'document');
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
  await app.reply('POST /api/v1/chats/a/messages', {});
  await app.reply('PUT /api/v1/chats/a', {});
  await asked;
  assert.equal([session.id.value, session.current.value], ['b', 'b1']);
  assert.ok(!app.sent.some((call) => /^(PUT|POST) .*chats\/b/.test(call)), app.sent.join(', '));
});

for (const next of [null, 'b']) {
  const name = next === null ? 'a new chat' : 'another chat';
  test(`a chat that is being created when ${name} is opened does not give that one its id, and is not created twice`, async () => {
    app.createsSlowly = true;
    const session = new ChatSession();
    const asked = session.send('What is this?', ['data:image/png;base64,AA==']);
    const other = session.open(next);
    await settled();
    await app.reply('POST /api/v1/chats', { id: 'a' });
    if (next !== null) {
      await app.reply('PUT /api/v1/chats/a', {});
      await app.reply('GET /api/v1/chats/b', chat('b'));
    }
    await Promise.all([asked, other]);
    assert.is(session.id.value, next);
    assert.equal(
      session.messages.value.map(({ content }) => content),
      next === null ? [] : ['b'],
    );
    assert.is(app.sent.filter((call) => call === 'POST /api/v1/chats').length, 1, app.sent.join(', '));
  });

  test(`what was written until ${name} is opened is kept in its own`, async () => {
    const session = new ChatSession();
    const asked = session.send('Why?', []);
    await settled();
    const other = session.open(next);
    await settled();
    if (next !== null) await app.reply('GET /api/v1/chats/b', chat('b'));
    await app.reply('POST /api/v1/chats/new/messages', {});
    await app.reply('PUT /api/v1/chats/new', {});
    await Promise.all([asked, other]);
    const { messages } = app.bodies[app.sent.indexOf('POST /api/v1/chats/new/messages')] as Chat;
    assert.equal(
      messages.map(({ content }) => content),
      ['Because'],
    );
    assert.is(session.id.value, next);
  });
}

test.run();
