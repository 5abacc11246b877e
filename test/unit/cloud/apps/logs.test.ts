// Runner logs: files that are truncated while they are being read.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { boundLog, lastLineOf, readLog } from '../../../../ts/cloud/apps/logs.js';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-logs-'));
const test = suite('cloud: logs');

test.after(() => fs.rmSync(folder, { recursive: true }));

const MIB = 2 ** 20;
const lineOf = (number: number) => `${String(number).padStart(98, ' ')}\n`;

function write(name: string, lines: number): { file: string; log: number } {
  const file = path.join(folder, name);
  const log = fs.openSync(file, 'a');
  fs.writeSync(log, Array.from({ length: lines }, (_, number) => lineOf(number)).join(''));
  return { file, log };
}

test('a file that grew too large keeps its last lines, and its writer goes on behind them', () => {
  const lines = Math.ceil((9 * MIB) / 99);
  const { file, log } = write('large.log', lines);
  boundLog(file);
  fs.writeSync(log, 'more\n');
  fs.closeSync(log);
  const kept = fs.readFileSync(file, 'utf8').split('\n');
  assert.ok(fs.statSync(file).size <= MIB + 5);
  assert.ok(kept.length > 10_000);
  assert.equal(kept.splice(-3), [lineOf(lines - 1).slice(0, -1), 'more', '']);
  assert.ok(kept.every((line) => line.length === 98));
});

test('one that has not grown too large stays as it is, and one that is not there is no problem', () => {
  const { file, log } = write('small.log', 1000);
  fs.closeSync(log);
  boundLog(file);
  assert.is(fs.statSync(file).size, 99_000);
  boundLog(path.join(folder, 'absent.log'));
});

test('a reader ahead of a shortened log continues with its last lines', () => {
  const { file, log } = write('cut.log', 10);
  fs.closeSync(log);
  const { text, next } = readLog(file, 5000, 198);
  assert.is(text, lineOf(8) + lineOf(9));
  assert.is(next, 990);
  assert.equal(readLog(file, next, 200), { text: '', next: 990 });
});

test('following a log continues after the last read byte', () => {
  const file = path.join(folder, 'bytes.log');
  // Each of the three is shown as a character of three bytes.
  fs.writeFileSync(file, Buffer.from([0xff, 0xfe, 0x80, 0x0a, 0x61, 0x0a, 0x62]));
  assert.equal(readLog(file, 0, 100), { text: '\ufffd\ufffd\ufffd\na\n', next: 6 });
  fs.appendFileSync(file, '\n');
  assert.equal(readLog(file, 6, 100), { text: 'b\n', next: 8 });
});

test('the last of a log begins with a whole line', () => {
  const file = path.join(folder, 'tail.log');
  fs.writeFileSync(file, 'first é\nlast é\n');
  for (let bytes = 8; bytes < 17; bytes++) {
    assert.equal(readLog(file, null, bytes), { text: 'last é\n', next: 17 }, `${bytes} bytes`);
  }
  assert.is(readLog(file, null, 17).text, 'first é\nlast é\n');
});

test('a truncated line consists of whole characters', () => {
  const file = path.join(folder, 'line.log');
  fs.writeFileSync(file, 'aé€😀z');
  const pieces: string[] = [];
  for (let at = 0; at < 10; ) {
    const { text, next } = readLog(file, at, 5);
    pieces.push(text);
    at = next;
  }
  assert.equal(pieces, ['aé', '€', '😀z']);
  const tails = Array.from({ length: 5 }, (_, index) => readLog(file, null, 4 + index).text);
  assert.equal(tails, ['z', '😀z', '😀z', '😀z', '€😀z']);
  fs.appendFileSync(file, '\n');
  assert.equal(readLog(file, null, 5), { text: 'z\n', next: 12 });
  // The line that does not end begins exactly where the tail does.
  fs.writeFileSync(file, `ok\n${'x'.repeat(10)}`);
  assert.equal(readLog(file, null, 10), { text: 'x'.repeat(10), next: 13 });
});

test('without files to open, a runner has no last words, and a log that grew too large is kept', () => {
  const { file, log } = write('full.log', Math.ceil((9 * MIB) / 99));
  fs.closeSync(log);
  const { openSync } = fs;
  fs.openSync = () => {
    throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
  };
  try {
    assert.is(lastLineOf(file), '');
    assert.throws(() => boundLog(file), /EMFILE/);
  } finally {
    fs.openSync = openSync;
  }
  assert.ok(fs.statSync(file).size > 8 * MIB);
});

test('a log that cannot be read says nothing, and does not stay open', () => {
  const { closeSync } = fs;
  let closed = 0;
  fs.closeSync = (handle) => {
    closed += 1;
    closeSync(handle);
  };
  try {
    assert.is(lastLineOf(folder), '');
  } finally {
    fs.closeSync = closeSync;
  }
  assert.is(closed, 1);
});

test.run();
