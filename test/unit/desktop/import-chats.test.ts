// Chats from the exports of other programs.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readExport } from '../../../ts/desktop/import-chats.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('desktop: imported chats');

const read = (value: unknown) => readExport(JSON.stringify(value), 'file.json').chats;
const isRefusal = (error: unknown) => error instanceof ChasquiError && error.code === 'invalid_value';
const user = { id: 'm1', parent: null, role: 'user', content: 'Hi' };

test('ChatGPT: branches stay, hidden nodes are left out, and the system message is the prompt', () => {
  const node = (parent: string | null, role: string, parts: unknown[], more: object = {}) => ({
    parent,
    message: { author: { role }, content: { content_type: 'text', parts }, ...more },
  });
  const mapping = {
    b: node('hidden', 'assistant', ['Hello'], { create_time: 1700000000.5, metadata: { model_slug: 'gpt-x' } }),
    root: { parent: null, message: null },
    s: node('root', 'system', ['Be kind.']),
    a: node('s', 'user', ['Hi']),
    hidden: node('a', 'tool', ['…']),
    c: node('hidden', 'assistant', ['Good', { asset_pointer: 'file' }, 'day']),
  };
  const export_ = [{ title: 'T', create_time: 1700000000, update_time: 1700000001, mapping, current_node: 'b' }];
  assert.equal(read(export_), [
    {
      chat: {
        title: 'T',
        messages: [
          { id: 'm2', parent: null, role: 'user', content: 'Hi' },
          { id: 'm1', parent: 'm2', role: 'assistant', content: 'Hello', model: 'gpt-x', createdAt: 1700000000500 },
          { id: 'm3', parent: 'm2', role: 'assistant', content: 'Good\n\nday' },
        ],
        systemPrompt: 'Be kind.',
        current: 'm1',
      },
      createdAt: 1700000000000,
      updatedAt: 1700000001000,
    },
  ]);
});

test('Open WebUI', () => {
  const messages = {
    x: { id: 'x', parentId: null, role: 'user', content: 'Hi', timestamp: 1700000000 },
    y: { id: 'y', parentId: 'x', role: 'assistant', content: 'Hello', model: 'llama' },
  };
  const chat = { title: 'T', history: { messages, currentId: 'y' } };
  assert.equal(read([{ id: 'z', title: 'T', chat, pinned: true, created_at: 5, updated_at: 6 }]), [
    {
      chat: {
        title: 'T',
        messages: [
          { ...user, createdAt: 1700000000000 },
          { id: 'm2', parent: 'm1', role: 'assistant', content: 'Hello', model: 'llama' },
        ],
        current: 'm2',
        pinned: true,
      },
      createdAt: 5000,
      updatedAt: 6000,
    },
  ]);
});

test('LM Studio: versions are branches, and reasoning is separate', () => {
  const text = (value: string) => [{ type: 'text', text: value }];
  const answer = {
    type: 'multiStep',
    role: 'assistant',
    senderInfo: { senderName: 'qwen' },
    steps: [
      { type: 'contentBlock', content: text('Hm'), style: { type: 'thinking' } },
      { type: 'contentBlock', content: text('Hello') },
    ],
  };
  const messages = [
    { versions: [{ role: 'user', content: text('Hi') }], currentlySelected: 0 },
    { versions: [answer, { ...answer, steps: [{ content: text('Yes?') }] }], currentlySelected: 0 },
    { versions: [{ role: 'user', content: text('Bye') }], currentlySelected: 0 },
  ];
  const model = 'qwen';
  assert.equal(read({ name: 'T', createdAt: 7, systemPrompt: 'Be kind.', messages }), [
    {
      chat: {
        title: 'T',
        messages: [
          user,
          { id: 'm2', parent: 'm1', role: 'assistant', content: 'Hello', reasoning: 'Hm', model },
          { id: 'm3', parent: 'm1', role: 'assistant', content: 'Yes?', model },
          { id: 'm4', parent: 'm2', role: 'user', content: 'Bye' },
        ],
        current: 'm4',
        systemPrompt: 'Be kind.',
      },
      createdAt: 7,
      updatedAt: 7,
    },
  ]);
});

test('deep and cyclic trees are read without recursion', () => {
  const long = Array.from({ length: 20_000 }, (_, at) => [
    `n${at}`,
    { parentId: at === 0 ? null : `n${at - 1}`, role: 'user', content: at % 2 ? 'x' : '' },
  ]);
  const of = (messages: unknown) => read([{ chat: { history: { messages, currentId: 'n19999' } } }])[0]?.chat;
  assert.is(of(Object.fromEntries(long))?.messages?.at(-1)?.parent, 'm9999');
  const cyclic = { a: { parentId: 'b', role: 'user', content: 'x' }, b: { parentId: 'a', role: 'user', content: 'y' } };
  const { messages = [] } = of(cyclic) ?? {};
  assert.ok(messages.every(({ parent }) => parent === null || messages.some(({ id }) => id === parent)));
});

test('an own export permits no tools: the user is asked before a call in it', () => {
  const settings = { temperature: 0, tools: { javascript: 'chat', 'files\nwrite': 'ask' } };
  const [imported] = read([{ settings, messages: [user] }]);
  assert.equal(imported?.chat.settings, { temperature: 0 });
  assert.equal(read([{ settings: 'x', messages: [user] }])[0]?.chat.settings, 'x');
});

test('other files are refused', () => {
  const many = Array.from({ length: 5001 }, () => ({ messages: [] }));
  const messages = Object.fromEntries(Array.from({ length: 20_001 }, (_, at) => [`n${at}`, {}]));
  for (const text of [
    'text',
    '[1]',
    '{"a": 1}',
    '[null]',
    JSON.stringify(many),
    JSON.stringify({ chats: [], folders: many.map(() => 'x') }),
    JSON.stringify([{ chat: { history: { messages } } }]),
    '['.repeat(100_000) + ']'.repeat(100_000),
  ]) {
    assert.throws(() => readExport(text, 'file.json'), isRefusal, text.slice(0, 50));
  }
});

test.run();
