import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../../ts/errors.js';
import { SharedKeys } from '../../../ts/keys/shared-keys.js';

const test = suite('unit: keys of a server of one’s own');

const folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-shared-keys-'));
test.after(() => rmSync(folder, { recursive: true }));

function fileOf(text: string): string {
  const file = path.join(folder, 'keys.txt');
  writeFileSync(file, text);
  return file;
}

function refusal(keys: readonly string[], file?: string): ChasquiError {
  try {
    new SharedKeys(keys, file);
  } catch (error) {
    assert.instance(error, ChasquiError);
    return error as ChasquiError;
  }
  throw new Error('They were taken.');
}

test('each of the keys opens, those of the file too, and nothing else does', () => {
  const keys = new SharedKeys(['one', 'two'], fileOf('three\r\n\n  four \n'));
  for (const key of ['one', 'two', 'three', 'four']) assert.ok(keys.admits(key), key);
  for (const key of ['', 'One', 'on', 'onee', ' one', 'three\r', 'one,two']) assert.not.ok(keys.admits(key), key);
});

test('the keys themselves are not kept', () => {
  const keys = new SharedKeys(['opensesame']);
  assert.not.match(inspect(keys, { depth: 9, showHidden: true }), 'opensesame');
});

test('a file that cannot be read, or has no key, is no reason to be open', () => {
  assert.match(refusal([], path.join(folder, 'absent')).message, /^`apiKeyFile` cannot be read: ENOENT/);
  assert.match(refusal(['one'], fileOf(' \n\n')).message, /^`apiKeyFile` is .*, which contains no key\.$/);
  assert.match(refusal([], fileOf('x'.repeat(2 << 20))).message, /cannot be read: it has 2097152 bytes/);
  assert.match(refusal([], fileOf('a\n'.repeat(1001))).message, /more than 1000 keys/);
});

test('a key that no header can hold is refused, and not repeated', () => {
  for (const key of ['two words', 'schlüssel', 'x\u0000y', 'x'.repeat(513)]) {
    const { message, code } = refusal([key]);
    assert.is(code, 'invalid_options');
    assert.match(message, /^`apiKey` has a key that is not 1 to 512 printable/);
    assert.not.match(message, key);
  }
});

test.run();
