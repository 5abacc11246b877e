// A chat of the page and the app's replies to it: other chats, other pages, and lost connections.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AppEvents, Chat } from '../../../ts/desktop/api-types.js';
import { until } from '../../support/until.js';

interface Value<T> {
  value: T;
}

interface Session {
  readonly messages: Value<readonly { readonly content: string }[]>;
  readonly id: Value<string | null>;
  readonly current: Value<string | null>;
  readonly title: Value<string>;
  readonly systemPrompt: Value<string>;
  readonly busy: Value<boolean>;
  readonly growing: Value<{ content: string } | null>;
  readonly draft: Value<{ text: string }>;
  open(id: string | null): Promise<void>;
  send(draft: {
    text: string;
    images: readonly string[];
    audio: readonly string[];
    files: readonly object[];
  }): Promise<void>;
  store(): Promise<void>;
  stop(): Promise<void>;
  changed(change: AppEvents['chat']): void;
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
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** The events of the completion. */
  readonly stream = new ReadableStream<Uint8Array>({
    start: (stream) => {
      this.#stream = stream;
    },
  });
  readonly #waiting: { call: string; reply: (body: unknown) => void }[] = [];

  fetch = (path: string, { method = 'GET', body, signal }: RequestInit): Promise<Response> => {
    const call = `${method} ${path}`;
    this.sent.push(call);
    this.bodies.push(typeof body === 'string' ? JSON.parse(body) : undefined);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) reject(new DOMException('', 'AbortError'));
      signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
      if (call === 'POST /api/v1/chats' && !this.createsSlowly)
        resolve(Response.json({ ...chat('new'), updatedAt: 1 }));
      else if (/^(POST|DELETE) .*completion$/.test(call)) resolve(new Response(null, { status: 204 }));
      else if (path.endsWith('/completion') && this.bodies.some(isCompletion)) resolve(new Response(this.stream));
      else if (path.endsWith('/completion')) resolve(new Response(null, { status: 204 }));
      else this.#waiting.push({ call, reply: (body) => resolve(Response.json(body)) });
    });
  };

  async say(name: string, data: object): Promise<void> {
    this.#stream?.enqueue(new TextEncoder().encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`));
    await settled();
  }

  /** The bodies that were sent with a call. */
  bodiesOf(call: string): unknown[] {
    return this.bodies.filter((_, index) => this.sent[index] === call);
  }

  async reply(call: string, body: unknown): Promise<void> {
    await settled();
    const at = this.#waiting.findIndex((each) => each.call === call);
    this.#waiting.splice(at, 1)[0]?.reply(body);
    await settled();
  }
}

const isCompletion = (body: unknown) => body !== undefined && 'parent' in (body as object);

const settled = () => new Promise((resolve) => setTimeout(resolve, 10));

const usual = globalThis.fetch;
let app: SlowApp;
let kept: Map<string, string>;
test.before.each(() => {
  app = new SlowApp();
  kept = new Map();
  globalThis.fetch = app.fetch as typeof fetch;
  const localStorage = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  };
  Object.assign(globalThis, { document: { hidden: true }, localStorage });
});
test.after(() => {
  for (const name of ['document', 'localStorage']) Reflect.deleteProperty(globalThis, name);
  globalThis.fetch = usual;
});

function chat(id: string, more: Partial<Chat> = {}): Chat {
  const message = { id: `${id}1`, parent: null, role: 'user', content: id, createdAt: 0 } as const;
  const header = { title: id, model: 'demo', systemPrompt: '', settings: {} };
  return {
    id,
    ...header,
    messages: [message],
    current: message.id,
    createdAt: 0,
    updatedAt: 1,
    running: null,
    ...more,
  };
}

async function opened(id: string): Promise<Session> {
  const session = new ChatSession();
  const opening = session.open(id);
  await app.reply(`GET /api/v1/chats/${id}`, chat(id));
  await opening;
  return session;
}

const contents = ({ messages }: Session) => messages.value.map(({ content }) => content);

test('the chat opened last is shown, whichever reply comes first', async () => {
  const session = new ChatSession();
  const both = Promise.all([session.open('a'), session.open('b')]);
  await app.reply('GET /api/v1/chats/b', chat('b'));
  await app.reply('GET /api/v1/chats/a', chat('a'));
  await both;
  assert.is(session.id.value, 'b');
});

test('a chat that is opened again while another one is read stays', async () => {
  const session = await opened('a');
  const both = Promise.all([session.open('b'), session.open('a')]);
  await app.reply('GET /api/v1/chats/b', chat('b'));
  await both;
  assert.is(session.id.value, 'a');
});

test('a question is stored and completed in its chat, though another one is opened meanwhile', async () => {
  const session = await opened('a');
  const asked = session.send({ text: 'And then?', images: [], audio: [], files: [] });
  const other = session.open('b');
  await app.reply('GET /api/v1/chats/b', chat('b'));
  await other;
  await app.reply('POST /api/v1/chats/a/messages', { updatedAt: 2 });
  await asked;
  assert.equal([session.id.value, session.current.value, session.busy.value], ['b', 'b1', false]);
  const [body] = app.bodiesOf('POST /api/v1/chats/a/completion') as { parent: string }[];
  const [{ messages }] = app.bodiesOf('POST /api/v1/chats/a/messages') as [Chat];
  assert.is(body?.parent, messages[0]?.id);
  assert.not.ok(
    app.sent.some((call) => /^(PUT|POST) .*chats\/b/.test(call)),
    app.sent.join(', '),
  );
});

for (const next of [null, 'b']) {
  const name = next === null ? 'a new chat' : 'another chat';
  test(`a chat that is being created when ${name} is opened is created once, and completed`, async () => {
    app.createsSlowly = true;
    const session = new ChatSession();
    const asked = session.send({ text: 'What is this?', images: ['data:image/png;base64,AA=='], audio: [], files: [] });
    const other = session.open(next);
    if (next !== null) await app.reply('GET /api/v1/chats/b', chat('b'));
    await other;
    await app.reply('POST /api/v1/chats', chat('a'));
    await asked;
    assert.is(session.id.value, next);
    assert.equal(contents(session), next === null ? [] : ['b']);
    assert.is(app.sent.filter((call) => call === 'POST /api/v1/chats').length, 1, app.sent.join(', '));
    assert.is(app.bodiesOf('POST /api/v1/chats/a/completion').length, 1);
  });
}

test('a completion grows with its events, and its end is the stored message', async () => {
  const session = await opened('a');
  const asked = session.send({ text: 'Why?', images: [], audio: [], files: [] });
  await app.reply('POST /api/v1/chats/a/messages', { updatedAt: 2 });
  await asked;
  const { id, parent } = app.bodiesOf('POST /api/v1/chats/a/completion')[0] as { id: string; parent: string };
  const message = { id, parent, role: 'assistant', content: '' };
  await app.say('message', message);
  await app.say('delta', { content: 'Because', reasoning: '', stats: {} });
  await until(() => session.growing.value?.content === 'Because', 'the text in the page');
  await app.say('end', { message: { ...message, content: 'Because.' }, error: null, updatedAt: 3 });
  assert.equal([contents(session), session.busy.value, session.current.value], [['a', 'Why?', 'Because.'], false, id]);
  // Its own changes are no news.
  session.changed({ id: 'a', updatedAt: 3, running: null });
  await settled();
  assert.is(app.sent.filter((call) => call === 'GET /api/v1/chats/a').length, 1);
});

for (const id of [null, 'a']) {
  test(`a completion of ${id === null ? 'a new' : 'a stored'} chat is stopped after it was started`, async () => {
    app.createsSlowly = true;
    const session = id === null ? new ChatSession() : await opened(id);
    const asked = session.send({ text: 'Why?', images: [], audio: [], files: [] });
    const stopped = session.stop();
    if (id === null) await app.reply('POST /api/v1/chats', chat('a'));
    else await app.reply('POST /api/v1/chats/a/messages', { updatedAt: 2 });
    await Promise.all([asked, stopped]);
    const calls = app.sent.filter((call) => /^(POST|DELETE) .*completion$/.test(call));
    assert.equal(calls, ['POST /api/v1/chats/a/completion', 'DELETE /api/v1/chats/a/completion']);
  });
}

test('only header fields that changed here are sent, and newer ones of other pages are taken', async () => {
  const session = await opened('a');
  session.systemPrompt.value = 'Be brief.';
  session.changed({ id: 'a', updatedAt: 5, running: null });
  await app.reply('GET /api/v1/chats/a', chat('a', { title: 'New title', updatedAt: 5 }));
  assert.equal([session.title.value, session.systemPrompt.value], ['New title', 'Be brief.']);
  const stored = session.store();
  await app.reply('PUT /api/v1/chats/a', chat('a', { updatedAt: 6 }));
  await stored;
  assert.equal(app.bodiesOf('PUT /api/v1/chats/a'), [{ systemPrompt: 'Be brief.' }]);
});

test('a change of another page is taken even if this page wrote a later version', async () => {
  const session = await opened('a');
  session.systemPrompt.value = 'Be brief.';
  const stored = session.store();
  session.changed({ id: 'a', updatedAt: 2, running: null });
  await app.reply('PUT /api/v1/chats/a', chat('a', { updatedAt: 3 }));
  await stored;
  await app.reply('GET /api/v1/chats/a', chat('a', { title: 'New title', systemPrompt: 'Be brief.', updatedAt: 3 }));
  assert.is(session.title.value, 'New title');
});

test('a reply that is older than a write of this page is read again', async () => {
  const session = await opened('a');
  session.changed({ id: 'a', updatedAt: 5, running: null });
  await settled();
  session.title.value = 'mine';
  const stored = session.store();
  await app.reply('PUT /api/v1/chats/a', chat('a', { title: 'mine', updatedAt: 6 }));
  await stored;
  await app.reply('GET /api/v1/chats/a', chat('a', { systemPrompt: 'theirs', updatedAt: 5 }));
  await app.reply('GET /api/v1/chats/a', chat('a', { title: 'mine', systemPrompt: 'theirs', updatedAt: 6 }));
  assert.equal([session.title.value, session.systemPrompt.value], ['mine', 'theirs']);
});

test('a message that the app does not take becomes the draft', async () => {
  const session = await opened('a');
  globalThis.fetch = () => Promise.reject(new TypeError('no connection'));
  await session.send({ text: 'Keep me', images: [], audio: [], files: [] }).then(
    () => assert.unreachable(),
    () => undefined,
  );
  assert.equal([contents(session), session.current.value, session.busy.value], [['a'], 'a1', false]);
  assert.equal([session.draft.value.text, kept.get('chasqui.draft.a')], ['Keep me', 'Keep me']);
});

test('a chat that was deleted elsewhere is not shown any more', async () => {
  const session = await opened('a');
  session.changed({ id: 'a', updatedAt: null, running: null });
  assert.equal([session.id.value, contents(session)], [null, []]);
});

test.run();
