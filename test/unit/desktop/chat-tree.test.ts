// The tree that a chat is: branches, and the ways between them.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatMessage } from '../../../ts/desktop/api-types.js';
import { alternativesOf, branchTo, lastUnder, titleOf } from '../../../ts/desktop/ui/state/chat-tree.js';

const message = (id: string, parent: string | null): ChatMessage => ({
  id,
  parent,
  role: id.startsWith('q') ? 'user' : 'assistant',
  content: id,
});

const tree = [
  message('q1', null),
  message('a1', 'q1'),
  message('a2', 'q1'),
  message('q2', 'a1'),
  message('a3', 'q2'),
  message('q3', 'a1'),
];
const ids = (messages: ChatMessage[]) => messages.map(({ id }) => id).join(' ');

test('a branch goes from the first message to the last', () => {
  assert.is(ids(branchTo(tree, 'a3')), 'q1 a1 q2 a3');
  assert.is(ids(branchTo(tree, 'a2')), 'q1 a2');
  assert.is(ids(branchTo(tree, null)), '');
  assert.is(ids(branchTo(tree, 'unknown')), '');
});

test('a circle in a stored chat ends', () => {
  assert.is(ids(branchTo([message('q1', 'a1'), message('a1', 'q1')], 'a1')), 'q1 a1');
});

test('alternatives have the same message before them and the same author', () => {
  assert.is(ids(alternativesOf(tree, tree[1] as ChatMessage)), 'a1 a2');
  assert.is(ids(alternativesOf(tree, tree[3] as ChatMessage)), 'q2 q3');
  assert.is(ids(alternativesOf(tree, tree[0] as ChatMessage)), 'q1');
});

test('going to a branch goes to the end of its newest one', () => {
  assert.is(lastUnder(tree, 'a1'), 'q3');
  assert.is(lastUnder(tree, 'q2'), 'a3');
  assert.is(lastUnder([message('q1', 'a1'), message('a1', 'q1')], 'q1').length, 2);
});

test('a title is the first line, cut', () => {
  assert.is(titleOf({ content: '  Hello\nthere' }), 'Hello');
  assert.is(titleOf({ content: '' }), '');
  assert.is(titleOf({ content: '', files: [{ name: 'a.md', sizeBytes: 1, text: 'A' }] }), 'a.md');
  assert.is(titleOf({ content: 'x'.repeat(100) }).length, 59);
});

test.run();
