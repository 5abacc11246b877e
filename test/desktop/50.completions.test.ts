// Completions of chats: they run in the app, are followed by pages, and survive kills of the app and of the engine.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Chat, ChatMessage, CompletionEvent } from '../../ts/desktop/api-types.js';
import { enginesOf } from '../support/engine-process.js';
import { loadLongModel, longChat, MODEL } from '../support/long-answer.js';
import { seededRandom } from '../support/seeded-random.js';
import { desktopFolder, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const completions = suite('completions of chats');
const folder = desktopFolder();
/** Kills of each kind. */
const KILLS = Number(process.env.CHASQUI_CHAT_KILLS ?? 3);
let app: RunningDesktop;

completions.before(async () => {
  app = await startDesktop([], { folder });
  await loadLongModel(app);
});

completions.after(async () => {
  await app.stop();
  removeFolder(folder);
});

const pathOf = (chat: string) => `/api/v1/chats/${chat}/completion`;

/** Follows a completion as a page does. */
class Followed {
  readonly events: CompletionEvent[] = [];
  text = '';
  readonly ended: Promise<void>;

  constructor(chat: string) {
    this.ended = this.#read(chat).catch(() => undefined);
  }

  async #read(chat: string): Promise<void> {
    const reply = await fetch(app.url + pathOf(chat), { headers: { authorization: `Bearer ${app.token}` } });
    const decoder = new TextDecoder();
    let rest = '';
    for await (const bytes of reply.body ?? []) {
      const frames = (rest + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
        if (data !== undefined) this.#take({ name, data: JSON.parse(data) } as CompletionEvent);
      }
    }
  }

  #take(event: CompletionEvent): void {
    this.events.push(event);
    if (event.name === 'end') return;
    this.text = event.name === 'message' ? event.data.content : this.text + event.data.content;
  }
}

const read = (chat: string): Promise<Chat> => app.done('GET', `/api/v1/chats/${chat}`);
const answerOf = ({ messages }: Chat): ChatMessage | undefined => messages.find(({ id }) => id === 'a');

async function begun(title: string): Promise<{ chat: string; followed: Followed }> {
  const chat = await longChat(app, title);
  await app.done('POST', pathOf(chat), { id: 'a', parent: 'q' });
  return { chat, followed: new Followed(chat) };
}

completions('a completion runs without a page, is followed from any moment, and stops when told', async () => {
  const events = await app.watch();
  const { chat, followed } = await begun('Alone');
  await until(() => followed.text.length > 50, 'text');
  assert.is((await read(chat)).running, 'a');
  const [listed] = (await app.done('GET', '/api/v1/chats')).chats;
  assert.equal([listed.id, listed.running], [chat, 'a']);
  const storedLength = async () => answerOf(await read(chat))?.content.length ?? 0;
  const before = await storedLength();
  await until(async () => (await storedLength()) > before, 'more of it is stored while it runs');
  const late = new Followed(chat);
  await until(() => late.text.length > 50, 'the text so far');
  assert.is((await app.api('DELETE', pathOf(chat))).status, 204);
  await Promise.all([followed.ended, late.ended]);
  const stored = await read(chat);
  assert.equal([stored.running, stored.current], [null, 'a']);
  assert.is(answerOf(stored)?.content, followed.text);
  assert.is(late.text, followed.text);
  const last = followed.events.at(-1);
  assert.is(last?.name === 'end' && last.data.updatedAt, stored.updatedAt);
  const changes = () => events.seen.filter(({ name, data }) => name === 'chat' && data.id === chat);
  await until(() => changes().at(-1)?.data.running === null, 'the event of the end');
  assert.ok(changes().some(({ data }) => data.running === 'a'));
  events.close();
});

completions('a second completion of the same chat and unknown messages are refused', async () => {
  const { chat } = await begun('Refused');
  const busy = await app.api('POST', pathOf(chat), { id: 'b', parent: 'q' });
  assert.equal([busy.status, busy.body.error.code], [409, 'chat_busy']);
  await app.done('DELETE', pathOf(chat));
  for (const [body, param] of [
    [{ id: 'b', parent: 'nothing' }, 'parent'],
    [{ id: 'q', parent: null }, 'id'],
    [{ id: 'b' }, 'parent'],
  ] as const) {
    const reply = await app.api('POST', pathOf(chat), body);
    assert.equal([reply.status, reply.body.error.param], [400, param]);
  }
  assert.is((await app.api('POST', pathOf('none'), { id: 'b', parent: 'q' })).status, 404);
  const { id } = await app.done('POST', '/api/v1/chats', { title: 'No model' });
  assert.is((await app.api('GET', pathOf(id))).status, 204);
});

completions('the message before a running completion cannot be removed', async () => {
  const { chat, followed } = await begun('Kept');
  await until(() => followed.text !== '', 'text');
  const removed = await app.api('PUT', `/api/v1/chats/${chat}`, { messages: [], current: null });
  assert.equal([removed.status, removed.body.error.code], [409, 'chat_busy']);
  for (const message of ['q', 'a']) {
    const deleted = await app.api('DELETE', `/api/v1/chats/${chat}/messages/${message}`);
    assert.equal([deleted.status, deleted.body.error.code], [409, 'chat_busy'], message);
  }
  await app.done('DELETE', pathOf(chat));
  await followed.ended;
  assert.is(answerOf(await read(chat))?.content, followed.text);
  await app.done('PUT', `/api/v1/chats/${chat}`, { messages: [], current: null });
});

completions('a chat whose settings ask for several choices gets one', async () => {
  const chat = await longChat(app, 'Choices');
  const { settings } = await read(chat);
  await app.done('PUT', `/api/v1/chats/${chat}`, { settings: { ...settings, n: 3, max_tokens: 8 } });
  await app.done('POST', pathOf(chat), { id: 'a', parent: 'q' });
  await until(async () => (await read(chat)).running === null, 'the end');
  assert.is(answerOf(await read(chat))?.stats?.completionTokens, 8);
});

completions('an error is kept for pages that come later, and the message is not lost', async () => {
  const chat = await longChat(app, 'Failed');
  await app.done('PUT', `/api/v1/chats/${chat}`, { systemPrompt: 'too long '.repeat(70_000) });
  await app.done('POST', pathOf(chat), { id: 'a', parent: 'q' });
  await until(async () => (await read(chat)).running === null, 'the end');
  const late = new Followed(chat);
  await late.ended;
  const [end] = late.events;
  assert.is(end?.name === 'end' && end.data.message === null && end.data.error?.code, 'context_length_exceeded');
  assert.equal(
    (await read(chat)).messages.map(({ id }) => id),
    ['q'],
  );
});

completions('a completion of a deleted chat stops', async () => {
  const { chat, followed } = await begun('Deleted');
  await until(() => followed.text !== '', 'text');
  await app.done('DELETE', `/api/v1/chats/${chat}`);
  await followed.ended;
  assert.is((await app.api('GET', pathOf(chat))).status, 204);
});

const random = seededRandom(47);

for (let round = 1; round <= KILLS; round += 1) {
  const afterMs = 3500 * random();

  completions(
    `a kill of the app ${Math.round(afterMs)} ms after a question loses nothing that was stored`,
    async () => {
      const { chat, followed } = await begun(`App ${round}`);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      const saved = answerOf(await read(chat))?.content ?? '';
      await app.kill();
      await followed.ended;
      app = await startDesktop([], { folder });
      const stored = await read(chat);
      assert.is(stored.messages[0]?.content, `App ${round}: tell me a story.`);
      expectKept(answerOf(stored)?.content ?? '', followed, saved);
      await loadLongModel(app);
    },
  );

  completions(
    `a kill of the engine ${Math.round(afterMs)} ms after a question loses nothing that arrived`,
    async () => {
      const { chat, followed } = await begun(`Engine ${round}`);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      const hadText = followed.text !== '';
      for (const pid of enginesOf(app.child.process.pid as number)) process.kill(pid, 'SIGKILL');
      // A completion without text starts again, unless text was on its way to here.
      if (!hadText) await app.api('DELETE', pathOf(chat));
      await followed.ended;
      const stored = await read(chat);
      assert.is(stored.messages[0]?.content, `Engine ${round}: tell me a story.`);
      assert.is(answerOf(stored)?.content ?? '', followed.text);
      const end = followed.events.at(-1);
      if (hadText) assert.is(end?.name === 'end' && end.data.error?.code, 'engine_restarting');
      await until(
        async () => (await app.done('GET', '/api/v1/state')).models[0]?.state === 'loaded',
        'the next engine',
      );
    },
  );
}

/** The stored text begins with the text that was saved before the kill. One of it and the received text is a prefix of the other. */
function expectKept(stored: string, followed: Followed, saved: string): void {
  assert.ok(stored.startsWith(saved), `${stored.length} characters of at least ${saved.length}`);
  const common = Math.min(stored.length, followed.text.length);
  assert.is(stored.slice(0, common), followed.text.slice(0, common));
}

completions('Continue appends to the stored text', async () => {
  const { chat, followed } = await begun('Continued');
  await until(() => followed.text.length > 20, 'text');
  await app.done('DELETE', pathOf(chat));
  await followed.ended;
  await app.done('POST', pathOf(chat), { id: 'a', parent: 'q' });
  const again = new Followed(chat);
  await until(() => again.text.length > followed.text.length, 'more text');
  await app.done('DELETE', pathOf(chat));
  const { messages } = await read(chat);
  assert.equal([messages.length, messages[1]?.model], [2, MODEL]);
  assert.ok(messages[1]?.content.startsWith(followed.text));
});

completions.run();
