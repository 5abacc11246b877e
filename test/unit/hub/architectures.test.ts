import fs from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkArchitecture, isKnownArchitecture } from '../../../ts/hub/architectures.js';
import { architecturesInSource, LIST, listFile } from './architecture-list.js';

test('the list is that of llama.cpp’s source: npx tsx test/unit/hub/architecture-list.ts writes it', () => {
  assert.ok(architecturesInSource().length > 100);
  assert.is(fs.readFileSync(LIST, 'utf8'), listFile());
});

test('architectures that the engine refuses are unknown', () => {
  const refused = ['chameleon', 'wavtokenizer-dec', 't5', 't5encoder', 'dream', 'llada', 'llada-moe', 'rnd1'];
  for (const name of [...refused, 'eagle3', 'dflash', 'gemma4-assistant', 'gptj']) {
    assert.not.ok(isKnownArchitecture(name), name);
  }
});

test('what llama.cpp loads is known, and nothing else', () => {
  for (const name of ['llama', 'qwen3moe', 'gemma3', 'bert']) assert.ok(isKnownArchitecture(name), name);
  for (const name of ['clip', '(unknown)', 'toString', '', 'LLAMA']) assert.not.ok(isKnownArchitecture(name), name);
  assert.throws(
    () => checkArchitecture('new9', 'a/b'),
    /a\/b is of the kind `new9`, which this llama\.cpp cannot load/,
  );
});

test.run();
