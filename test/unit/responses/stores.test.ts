import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newResponse } from '../../../ts/api/openai/responses/new-response.js';
import { MemoryStore } from '../../../ts/api/openai/responses/store/memory-store.js';
import {
  asConversation,
  asResponse,
  type ResponseStore,
  type StoredConversation,
  type StoredResponse,
  type StoreLimits,
} from '../../../ts/api/openai/responses/store/response-store.js';
import { SqliteStore } from '../../../ts/api/openai/responses/store/sqlite-store.js';
import { NEUTRAL_SAMPLING } from '../../../ts/options/sampling-table.js';
import { openSqlite } from '../../../ts/sqlite.js';

const LIMITS: StoreLimits = { maxResponses: 100, maxBytes: 1_000_000, maxAgeMs: 1000 };

function stored(id: string, text = 'Hi'): StoredResponse {
  const response = { ...newResponse({ model: 'm', input: '' }, 'm', NEUTRAL_SAMPLING, true), id };
  response.output.push({ type: 'message', id: `msg_${id}`, status: 'completed', role: 'assistant', content: [] });
  return { response, input: [{ type: 'message', id: `in_${id}`, role: 'user', content: text }] };
}

function conversation(id: string, ...items: string[]): StoredConversation {
  return {
    conversation: { id, object: 'conversation', created_at: 0, metadata: {} },
    items: items.map((item) => ({ type: 'message', id: item, role: 'user', content: item })),
  };
}

interface Context {
  folder: string;
}

type Open = (folder: string, limits: Partial<StoreLimits>, now: () => number) => ResponseStore;

const kinds: [string, Open][] = [
  ['memory', (_folder, limits, now) => new MemoryStore({ ...LIMITS, ...limits }, now)],
  ['a file', (folder, limits, now) => SqliteStore.open(folder, { ...LIMITS, ...limits }, now)],
];

for (const [kind, open] of kinds) {
  const test = suite<Context>(`unit: responses in ${kind}`);

  test.before.each((context) => {
    context.folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-responses-'));
  });
  test.after.each(({ folder }) => rmSync(folder, { recursive: true }));

  /** A store with a fake clock that only `wait` advances. */
  function withClock(folder: string, limits: Partial<StoreLimits> = {}) {
    let now = 1_000_000;
    const store = open(folder, limits, () => now);
    return {
      store,
      wait: (ms: number) => {
        now += ms;
      },
    };
  }

  const idsIn = (store: ResponseStore, owner: string, ...ids: string[]) => ids.filter((id) => store.read(owner, id));

  test('entries are listed by the prefix of their ids', ({ folder }) => {
    const { store } = withClock(folder);
    const file = { id: 'file-1', object: 'file', bytes: 1, filename: 'a', purpose: 'p', status: 'processed' } as const;
    const late = { ...file, created_at: 2 };
    const early = { ...file, id: 'file-2', created_at: 1 };
    const data = { data: { id: 'data-file-1', base64: 'YQ==' } };
    for (const each of [data, { file: late }, { file: early }, stored('resp_1')]) store.put('me', each);
    assert.equal([store.list('me', 'file-'), store.list('you', 'file-')], [[{ file: late }, { file: early }], []]);
    assert.equal([store.read('me', 'data-file-1'), store.read('you', 'file-1')], [data, null]);
    store.close();
  });

  test('a turn of a thread is found by its id, and is no response or conversation', ({ folder }) => {
    const { store, wait } = withClock(folder);
    const thread = { id: 'msg_1', previous: null, turns: 1, length: 10, fields: { system: 'S' } };
    const turn = { thread, messages: [{ role: 'user', content: 'Hi' }] };
    store.put('me', turn);
    store.put('me', stored('resp_1'));
    assert.equal(store.read('me', 'msg_1'), turn);
    assert.equal([store.read('you', 'msg_1'), asResponse(turn), asConversation(turn)], [null, null, null]);
    wait(LIMITS.maxAgeMs);
    assert.is(store.read('me', 'msg_1'), null);
    store.close();
  });

  test('has what was put, and its items, for its owner only', ({ folder }) => {
    const { store } = withClock(folder);
    store.put('a', stored('1'));
    store.put('b', stored('2'));
    assert.is(asResponse(store.read('a', '1'))?.response.id, '1');
    assert.equal([store.read('b', '1'), store.read('a', '2')], [null, null]);
    assert.is(store.holderOf('a', 'in_1'), '1');
    assert.is(store.holderOf('a', 'msg_1'), '1');
    assert.is(store.holderOf('b', 'msg_1'), null);
    assert.is(store.delete('b', '1'), false);
    assert.is(asResponse(store.read('a', '1'))?.response.id, '1');
    store.close();
  });

  test('storing an id again replaces its value', ({ folder }) => {
    const { store } = withClock(folder);
    store.put('a', stored('1', 'one'));
    store.put('a', stored('1', 'two'));
    assert.equal(asResponse(store.read('a', '1'))?.input, stored('1', 'two').input);
    assert.is(store.delete('a', '1'), true);
    assert.is(store.delete('a', '1'), false);
    assert.is(store.holderOf('a', 'msg_1'), null);
    store.close();
  });

  test('has conversations among the responses, and never takes one for the other', ({ folder }) => {
    const { store } = withClock(folder);
    store.put('a', stored('1'));
    store.put('a', conversation('c', 'x'));
    assert.equal([store.read('a', 'c'), store.read('b', 'c')], [conversation('c', 'x'), null]);
    assert.equal([asResponse(conversation('c')), asConversation(stored('1'))], [null, null]);
    assert.is(store.holderOf('a', 'x'), 'c');
    assert.is(store.delete('a', 'c'), true);
    assert.equal([store.read('a', 'c'), store.holderOf('a', 'x')], [null, null]);
    store.close();
  });

  test('a conversation is changed as it is at that moment, or not at all', ({ folder }) => {
    const { store } = withClock(folder);
    store.put('a', conversation('c', 'x'));
    const add = (item: string) => (now: StoredConversation) => ({
      ...now,
      items: [...now.items, ...conversation('', item).items],
    });
    store.change('a', 'c', add('y'));
    assert.equal(store.change('a', 'c', add('z')), conversation('c', 'x', 'y', 'z'));
    const fail = () => {
      throw new Error('no');
    };
    assert.throws(() => store.change('a', 'c', fail), /no/);
    assert.equal(store.read('a', 'c'), conversation('c', 'x', 'y', 'z'));
    assert.is(store.holderOf('a', 'z'), 'c');
    assert.equal([store.change('b', 'c', add('w')), store.change('a', '1', add('w'))], [null, null]);
    store.close();
  });

  test('an item of a response and a conversation is found in the response', ({ folder }) => {
    const { store } = withClock(folder);
    store.put('a', stored('1'));
    store.put('a', conversation('c', 'msg_1', 'x'));
    assert.equal([store.holderOf('a', 'msg_1'), store.holderOf('a', 'x')], ['1', 'c']);
    store.delete('a', 'c');
    assert.is(store.holderOf('a', 'msg_1'), '1');
    store.close();
  });

  test('an item of several responses is found in the last of those that are there, and then in the others', ({
    folder,
  }) => {
    const { store, wait } = withClock(folder);
    const withItem = (id: string) => ({ ...stored(id), input: stored('1').input });
    store.put('a', conversation('c', 'in_1'));
    store.put('a', conversation('d', 'in_1'));
    for (const id of ['1', '2', '3']) store.put('a', withItem(id));
    assert.is(store.holderOf('a', 'in_1'), '3');
    store.delete('a', '3');
    assert.is(store.holderOf('a', 'in_1'), '2');
    store.put('a', withItem('1'));
    assert.is(store.holderOf('a', 'in_1'), '1');
    for (const id of ['1', '2']) store.delete('a', id);
    assert.is(store.holderOf('a', 'in_1'), 'd');
    store.delete('a', 'd');
    assert.is(store.holderOf('a', 'in_1'), 'c');
    wait(999);
    store.put('a', withItem('4'));
    wait(1);
    assert.is(store.holderOf('a', 'in_1'), '4');
    store.delete('a', '4');
    assert.is(store.holderOf('a', 'in_1'), null);
    store.close();
  });

  test('an item is found by any id that a client may give it', ({ folder }) => {
    const { store } = withClock(folder);
    const ids = [
      '',
      '\ud800',
      'a\0b',
      'a\0c',
      '😀',
      '"\\',
      "'; --",
      '__proto__',
      '1',
      '1.0',
      'null',
      '{"a":1}',
      'A',
      'x'.repeat(1e5),
    ];
    store.put('a', conversation('conv_1', ...ids));
    assert.equal(
      ids.map((id) => store.holderOf('a', id)),
      ids.map(() => 'conv_1'),
    );
    for (const other of ['a', 'a\0', 'a\0d', 'n', '1.00', '[]']) assert.is(store.holderOf('a', other), null, other);
    store.put('a', conversation('conv_1', 'y'));
    assert.equal(
      ids.map((id) => store.holderOf('a', id)),
      ids.map(() => null),
    );
    store.close();
  });

  test('forgets after a time', ({ folder }) => {
    const { store, wait } = withClock(folder);
    store.put('a', stored('1'));
    wait(999);
    store.put('a', stored('2'));
    assert.equal(idsIn(store, 'a', '1', '2'), ['1', '2']);
    wait(1);
    assert.equal(idsIn(store, 'a', '1', '2'), ['2']);
    assert.is(store.holderOf('a', 'msg_1'), null);
    assert.is(store.delete('a', '1'), false);
    store.close();
  });

  test('the one that was used longest ago makes room, of whoever has most', ({ folder }) => {
    const { store, wait } = withClock(folder, { maxResponses: 4 });
    for (const id of ['1', '2', '3']) {
      wait(1);
      store.put('a', stored(id));
    }
    wait(1);
    store.put('b', stored('x'));
    wait(1);
    store.read('a', '1');
    store.put('b', stored('y'));
    assert.equal(
      [idsIn(store, 'a', '1', '2', '3'), idsIn(store, 'b', 'x', 'y')],
      [
        ['1', '3'],
        ['x', 'y'],
      ],
    );
    store.close();
  });

  test('the earliest of several equal owners is evicted', ({ folder }) => {
    const { store } = withClock(folder, { maxResponses: 2 });
    for (const owner of ['a', 'b', 'c']) store.put(owner, stored('1'));
    assert.equal(
      ['a', 'b', 'c'].filter((owner) => store.read(owner, '1')),
      ['b', 'c'],
    );
    store.close();
  });

  test('is bounded in bytes', ({ folder }) => {
    const long = 'x'.repeat(100_000);
    const { store, wait } = withClock(folder, { maxBytes: 700_000 });
    for (const id of ['1', '2', '3', '4', '5']) {
      wait(1);
      store.put('a', stored(id, long));
    }
    assert.equal(idsIn(store, 'a', '1', '2', '3', '4', '5'), ['3', '4', '5']);
    store.close();
  });

  test('a response larger than all there is room for is not kept, and does no harm', ({ folder }) => {
    const { store } = withClock(folder, { maxBytes: 10_000 });
    store.put('a', stored('1', 'x'.repeat(100_000)));
    assert.is(store.read('a', '1'), null);
    store.put('a', stored('2'));
    assert.equal(idsIn(store, 'a', '2'), ['2']);
    store.close();
  });

  test.run();
}

const test = suite<Context>('unit: a file of responses');

test('outlasts the process, for this account’s eyes only, and several may have it open', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-responses-'));
  const first = SqliteStore.open(path.join(folder, 'data'));
  first.put('a', stored('1'));
  const second = SqliteStore.open(path.join(folder, 'data'));
  assert.is(asResponse(second.read('a', '1'))?.response.id, '1');
  second.put('a', stored('2'));
  assert.is(asResponse(first.read('a', '2'))?.response.id, '2');
  first.close();
  second.close();
  assert.is(statSync(path.join(folder, 'data', 'responses.db')).mode & 0o777, 0o600);
  assert.is(statSync(path.join(folder, 'data')).mode & 0o777, 0o700);
  rmSync(folder, { recursive: true });
});

test('a file of before keeps its responses and conversations, and their items are found', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-responses-'));
  const file = path.join(folder, 'responses.db');
  SqliteStore.open(folder).close();
  const database = openSqlite(file);
  database.exec(`
    DROP TRIGGER response_ends;
    DROP TABLE holders;
    CREATE TABLE items (owner TEXT NOT NULL, id TEXT NOT NULL, response TEXT NOT NULL, PRIMARY KEY (owner, id));
    CREATE TRIGGER response_ends AFTER DELETE ON responses BEGIN
      DELETE FROM items WHERE owner = old.owner AND response = old.id; END;`);
  const insert = (id: string, one: object, item: string) => {
    const rows: [string, ...(string | number)[]][] = [
      ['INSERT INTO responses VALUES (?, ?, ?, ?, ?)', 'a', id, 10, 1, 2 ** 50],
      ['INSERT INTO texts VALUES (?, ?, ?)', 'a', id, JSON.stringify(one)],
      ['INSERT INTO items VALUES (?, ?, ?)', 'a', item, id],
    ];
    for (const [sql, ...values] of rows) database.prepare(sql).run(values);
  };
  insert('resp_1', stored('resp_1'), 'x');
  insert('conv_1', conversation('conv_1', 'y'), 'y');
  database.close();
  const [first, second] = [SqliteStore.open(folder), SqliteStore.open(folder)];
  assert.equal([first.holderOf('a', 'x'), second.holderOf('a', 'y')], ['resp_1', 'conv_1']);
  first.put('a', { ...stored('resp_2'), input: conversation('', 'x', 'y').items as never });
  assert.equal([second.holderOf('a', 'x'), second.holderOf('a', 'y')], ['resp_2', 'resp_2']);
  second.delete('a', 'resp_2');
  assert.equal([first.holderOf('a', 'x'), first.holderOf('a', 'y')], ['resp_1', 'conv_1']);
  first.delete('a', 'resp_1');
  assert.is(second.holderOf('a', 'x'), null);
  first.close();
  second.close();
  rmSync(folder, { recursive: true });
});

/** How many rows are read into this process meanwhile. */
function rowsReadBy(action: () => void): number {
  const statement = Object.getPrototypeOf(openSqlite(':memory:').prepare('SELECT 1'));
  const { all } = statement;
  let rows = 0;
  statement.all = function (this: unknown, ...values: unknown[]): unknown[] {
    const found = all.apply(this, values);
    rows += found.length;
    return found;
  };
  try {
    action();
  } finally {
    statement.all = all;
  }
  return rows;
}

test('what is put takes no longer where there are many owners, and makes room of whoever has most', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-responses-'));
  const limits = { ...LIMITS, maxResponses: 2000, maxBytes: 2 ** 40 };
  const store = SqliteStore.open(folder, limits, () => 1000);
  for (const id of ['1', '2', '3']) store.put('most', stored(id, 'x'.repeat(1000)));
  for (let owner = 3; owner < 2000; owner += 1) store.put(`owner ${owner}`, stored('1'));
  const rows = rowsReadBy(() => store.put('b', stored('1')));
  assert.ok(rows < 10, `${rows} rows`);
  assert.equal(
    ['1', '2', '3'].filter((id) => store.read('most', id)),
    ['2', '3'],
  );
  store.close();
  rmSync(folder, { recursive: true });
});

test('a file of before is as full as it was', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-responses-'));
  const limits = { ...LIMITS, maxResponses: 2 };
  const before = SqliteStore.open(folder, limits, () => 1000);
  for (const id of ['1', '2']) before.put('a', stored(id));
  before.close();
  const database = openSqlite(path.join(folder, 'responses.db'));
  database.exec('DROP TRIGGER total_grows; DROP TRIGGER total_shrinks; DROP TABLE total;');
  database.close();
  const [first, second] = [0, 1].map(() => SqliteStore.open(folder, limits, () => 1000)) as [SqliteStore, SqliteStore];
  first.put('a', stored('3'));
  assert.equal(
    ['1', '2', '3'].filter((id) => second.read('a', id)),
    ['2', '3'],
  );
  first.close();
  second.close();
  rmSync(folder, { recursive: true });
});

test('a file that is none is an error with its name', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-responses-'));
  writeFileSync(
    path.join(folder, 'responses.db'),
    'no database at all, but long enough to be taken for one'.repeat(20),
  );
  assert.throws(() => SqliteStore.open(folder), /responses\.db cannot be used/);
  rmSync(folder, { recursive: true });
});

test.run();
