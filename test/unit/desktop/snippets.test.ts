// The programs that the Developer view shows, filled in.
import { spawnSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { snippetsFor } from '../../../ts/desktop/ui/state/snippets.js';

const ADDRESS = 'http://localhost:4321';

test('each names the server and the model', () => {
  // Agents find the app's server and its model by themselves.
  for (const { name, code } of snippetsFor(ADDRESS, 'user/repo:Q4_K_M', false)) {
    if (name === null) continue;
    assert.match(code, ADDRESS, name);
    assert.match(code, 'user/repo:Q4_K_M', name);
  }
});

test('where the server asks for a key, each has a place for it, and no other has', () => {
  for (const { code } of snippetsFor(ADDRESS, 'm', true)) assert.match(code, 'KEY_FROM_SETTINGS');
  for (const { code } of snippetsFor(ADDRESS, 'm', false)) assert.not.match(code, 'KEY_FROM_SETTINGS');
});

test('shell snippets quote any model name', () => {
  for (const asksForKey of [true, false]) {
    const snippets = snippetsFor(ADDRESS, "it's/a model", asksForKey).filter(({ language }) => language === 'bash');
    assert.is(snippets.length, 2);
    for (const { code } of snippets) assert.is(spawnSync('sh', ['-n', '-c', code]).status, 0, code);
  }
});

test.run();
