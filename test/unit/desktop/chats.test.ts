import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatMessage } from '../../../ts/desktop/api-types.js';
import { fileName, shownBranch, toMarkdown } from '../../../ts/desktop/routes/chats.js';
import { ChatStore } from '../../../ts/desktop/store/chats.js';
import { Store } from '../../../ts/desktop/store/database.js';
import { MIGRATIONS } from '../../../ts/desktop/store/migrations.js';
import type { ChasquiError } from '../../../ts/errors.js';
import { openSqlite } from '../../../ts/sqlite.js';

const chats = suite('chats');
const folder = mkdtempSync(path.join(tmpdir(), 'chasqui-chats-'));
const store = Store.open(folder);
const history = new ChatStore(store);

chats.after(() => {
  store.close();
  rmSync(folder, { recursive: true, force: true });
});

function said(id: string, parent: string | null, content: string, more: Partial<ChatMessage> = {}): ChatMessage {
  return { id, parent, role: parent === null ? 'user' : 'assistant', content, ...more };
}

const ids = (text: string) => history.list(text).map(({ id }) => id);

chats('a chat comes back as it was put, images and numbers included', () => {
  const image = 'data:image/png;base64,AAAA';
  const messages = [
    said('a', null, 'What is this?', { images: [image] }),
    said('b', 'a', 'A cat.', { stats: { speed: 12.5 } }),
  ];
  const made = history.create({ title: 'Cats', model: 'demo', messages, current: 'b', settings: { temperature: 0.5 } });
  const read = history.read(made.id);
  assert.equal(read, made);
  assert.equal(read.messages, messages);
  assert.equal([read.title, read.model, read.current, read.systemPrompt], ['Cats', 'demo', 'b', '']);
  history.delete(made.id);
});

chats('the position of each message is found without a search, and thousands keep their order', () => {
  const messages = Array.from({ length: 8000 }, (_, at) => said(`m${at}`, at === 0 ? null : `m${at - 1}`, 'x'));
  const statements: string[] = [];
  const { run } = store;
  store.run = (sql, ...values) => {
    statements.push(sql);
    return run.call(store, sql, ...values);
  };
  const { id } = history.create({ messages });
  store.run = run;
  const inserts = statements.filter((sql) => sql.includes('INSERT INTO messages'));
  assert.is(inserts.length, messages.length);
  assert.not(inserts.some((sql) => sql.includes('SELECT')));
  assert.equal(history.read(id).messages, messages);
  history.delete(id);
});

chats('a change leaves what it does not name, and messages that are not named any more are gone', () => {
  const { id } = history.create({ title: 'One', messages: [said('a', null, 'one'), said('b', 'a', 'two')] });
  history.change(id, { title: 'Two' });
  assert.is(history.read(id).messages.length, 2);
  history.change(id, { messages: [said('b', null, 'only'), said('c', 'b', 'three')] });
  assert.equal(
    history.read(id).messages.map(({ id: each, content }) => [each, content]),
    [
      ['b', 'only'],
      ['c', 'three'],
    ],
  );
  history.addMessages(id, { messages: [said('c', 'b', 'changed'), said('d', 'c', 'four')], current: 'd' });
  assert.equal(
    history.read(id).messages.map(({ content }) => content),
    ['only', 'changed', 'four'],
  );
  assert.is(history.read(id).current, 'd');
  history.delete(id);
  assert.throws(() => history.read(id), /Chat not found/);
});

chats('folders are renamed with their chats, and removed without them', () => {
  const { folders } = history;
  folders.add('Work');
  const [inside, outside] = [history.create({ title: 'In', folder: 'Work' }), history.create({ title: 'Out' })];
  assert.equal([inside.folder, outside.folder], ['Work', null]);
  folders.change('Work', { name: 'Job', open: false });
  assert.equal(folders.list(), [{ name: 'Job', open: false }]);
  folders.change('Job', { name: 'Job' });
  assert.is(history.read(inside.id).folder, 'Job');
  const expectError = (action: () => void, code: string, param: string) => {
    assert.throws(action, (error: ChasquiError) => error.code === code && error.param === param);
  };
  expectError(() => history.change(outside.id, { folder: 'Work' }), 'invalid_value', 'folder');
  expectError(() => folders.add('Job'), 'invalid_value', 'name');
  expectError(() => folders.change('Work', {}), 'not_found', 'name');
  folders.add('Other');
  expectError(() => folders.change('Other', { name: 'Job' }), 'invalid_value', 'name');
  history.change(outside.id, { folder: 'Job' });
  folders.remove('Job');
  expectError(() => folders.remove('Job'), 'not_found', 'name');
  const left = history.list().filter(({ id }) => [inside.id, outside.id].includes(id));
  assert.equal(
    left.map(({ folder }) => folder),
    [null, null],
  );
  for (const { id } of left) history.delete(id);
  folders.remove('Other');
});

chats('a text is found in any message of any branch, by whole words and the beginning of the last', () => {
  const messages = [
    said('a', null, 'How do llamas sleep?'),
    said('b', 'a', 'Standing.'),
    said('c', 'a', 'They lie down in grass.'),
  ];
  const one = history.create({ title: 'Animals', messages, current: 'b' });
  const other = history.create({ title: 'Études', messages: [said('a', null, 'Où est la façade?')] });
  assert.equal(ids('grass'), [one.id]);
  assert.equal(ids('lie gra'), [one.id]);
  assert.equal(ids('gra lie'), [], 'only the last word may be unfinished');
  assert.equal(ids('facade'), [other.id], 'accents are no hindrance');
  assert.equal(ids('animal'), [one.id], 'titles are searched, too');
  assert.equal(ids('nowhere'), []);
  assert.is(history.list('grass')[0]?.snippet, 'They lie down in \u0002grass\u0003.');
  for (const text of ['"', "'; DROP TABLE chats", 'NEAR(', 'a AND', '*', 'content:grass OR', '\u0000', '()'])
    history.list(text);
  history.change(one.id, { messages: [said('a', null, 'Nothing of that.')] });
  assert.equal(ids('grass'), [], 'what is deleted is not found');
  history.delete(one.id);
  assert.equal(ids('nothing'), []);
  history.delete(other.id);
});

chats('without a text all are listed, the one that was changed last first', async () => {
  const first = history.create({ title: 'first', messages: [said('a', null, 'x')] });
  await new Promise((resolve) => setTimeout(resolve, 5));
  const second = history.create({ title: 'second' });
  assert.equal(ids(''), [second.id, first.id]);
  await new Promise((resolve) => setTimeout(resolve, 5));
  history.change(first.id, { title: 'again' });
  assert.equal(ids('  '), [first.id, second.id]);
  assert.equal([history.list()[0]?.messageCount, history.list()[1]?.messageCount], [1, 0]);
  for (const { id } of [first, second]) history.delete(id);
});

chats('text with U+0000 is stored whole and found', () => {
  const text = 'before\0behind \u{1f999}';
  const { id } = history.create({ title: text, model: text, systemPrompt: text, messages: [said('a', null, text)] });
  const { title, model, systemPrompt, messages } = history.read(id);
  assert.equal([title, model, systemPrompt, messages[0]?.content], [text, text, text, text]);
  const [listed] = history.list('behind');
  assert.equal([listed?.id, listed?.title, listed?.snippet], [id, text, 'before\u0002behind\u0003 \u{1f999}']);
  history.delete(id);
});

chats('an unknown `current` or parent is rejected, and changes nothing', () => {
  const { id } = history.create({ messages: [said('a', null, 'one')], current: 'a' });
  const rejected = (field: string) => (error: Error) =>
    /no message `x`/.test(error.message) && Reflect.get(error, 'param') === field;
  assert.throws(() => history.change(id, { title: 'new', current: 'x' }), rejected('current'));
  assert.throws(
    () => history.addMessages(id, { messages: [said('b', 'a', 'two')], current: 'x' }),
    rejected('current'),
  );
  assert.throws(() => history.addMessages(id, { messages: [said('b', 'x', 'two')] }), rejected('messages'));
  assert.throws(() => history.create({ messages: [said('a', null, 'one')], current: 'x' }), rejected('current'));
  const { title, messages, current } = history.read(id);
  assert.equal([title, messages.length, current], ['', 1, 'a']);
  history.change(id, { messages: [said('c', null, 'other')] });
  assert.is(history.read(id).current, 'c', 'without a valid `current` the last message is shown');
  history.delete(id);
});

chats('a chat that an earlier version damaged is repaired when the database is opened', () => {
  const old = mkdtempSync(path.join(tmpdir(), 'chasqui-chats-'));
  const before = openSqlite(path.join(old, 'desktop.db'));
  before.exec(`${MIGRATIONS[0]}; PRAGMA user_version = 1;
    INSERT INTO chats VALUES ('x', 'Old', NULL, '', '{}', 'never-written', 1, 1);
    INSERT INTO messages VALUES (1, 'x', 'a', 1, 'one', '{"id":"a","parent":null,"role":"user"}')`);
  before.close();
  const after = Store.open(old);
  const { current, folder } = new ChatStore(after).read('x');
  assert.equal([current, folder], ['a', null]);
  after.close();
  rmSync(old, { recursive: true, force: true });
});

chats('a change that fails half-way changes nothing', () => {
  const { id } = history.create({ title: 'kept', messages: [said('a', null, 'kept')] });
  const broken = { id: 'b', parent: 'a', role: 'user', content: null } as unknown as ChatMessage;
  assert.throws(() => history.change(id, { title: 'lost', messages: [said('a', null, 'lost'), broken] }));
  assert.is(history.read(id).title, 'kept');
  assert.is(history.read(id).messages[0]?.content, 'kept');
  history.delete(id);
});

chats('a document has the branch that is shown', () => {
  const messages = [said('a', null, 'Hello'), said('b', 'a', 'One'), said('c', 'a', 'Two', { model: 'demo' })];
  const chat = history.create({ title: 'A/B: tést', systemPrompt: 'Be brief.\nAlways.', messages, current: 'c' });
  assert.equal(
    shownBranch(chat).map(({ id }) => id),
    ['a', 'c'],
  );
  assert.is(toMarkdown(chat), '# A/B: tést\n\n> Be brief.\n> Always.\n\n## You\n\nHello\n\n## demo\n\nTwo\n');
  assert.is(fileName(chat, 'md'), 'A-B-te-st.md');
  const inCircle = { ...chat, messages: [said('a', 'b', 'x'), said('b', 'a', 'y')], current: 'a' };
  assert.is(shownBranch(inCircle).length, 2);
});

chats.run();
