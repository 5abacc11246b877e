// `chasqui batch run` with the demo model.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callCli } from '../support/call-cli.js';
import { runCli, startChild } from '../support/child.js';
import { until } from '../support/until.js';

const test = suite<{ folder: string }>('model-cli: batch');

test.before.each((context) => {
  context.folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-batch-'));
});
test.after.each(({ folder }) => rmSync(folder, { recursive: true, force: true }));

const LOAD = ['--ctx-size', '256', '--threads', '1'];

function chat(custom_id: string, more: object = {}): string {
  const body = { model: 'any', messages: [{ role: 'user', content: 'Count from 3 to 6' }], max_tokens: 12, ...more };
  return `${JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body })}\n`;
}

function repliesIn(file: string): { custom_id: string; response: { status_code: number } }[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  assert.is(lines.pop(), '');
  return lines.map((line) => JSON.parse(line));
}

test('writes the replies, and continues an output that was cut off', async ({ folder }) => {
  const [file, output] = [path.join(folder, 'in.jsonl'), path.join(folder, 'in.out.jsonl')];
  const embedding = { custom_id: 'b', url: '/v1/embeddings', body: { model: 'any', input: 'Hi' } };
  writeFileSync(file, `${chat('a')}\n${JSON.stringify(embedding)}\n${chat('c', { max_tokens: 'x' })}`);
  const first = await runCli(['batch', 'run', file, ...LOAD]);
  assert.is(first.code, 1, first.stderr);
  assert.match(first.stderr, /3 of 3 requests, 1 failed in .*in\.out\.jsonl/);
  const statuses = repliesIn(output).map(({ custom_id, response }) => `${custom_id} ${response.status_code}`);
  assert.equal(statuses.sort(), ['a 200', 'b 200', 'c 400']);
  const kept = readFileSync(output, 'utf8').split('\n')[0] as string;
  writeFileSync(output, `${kept}\n{"id":"batch_req_1","cus`);
  const second = await runCli(['batch', 'run', file, ...LOAD]);
  assert.match(second.stderr, /3 of 3 requests, 1 failed/);
  const again = repliesIn(output);
  assert.equal(again.map(({ custom_id }) => custom_id).sort(), ['a', 'b', 'c']);
  assert.equal(again[0], JSON.parse(kept));
});

test('a killed or interrupted run continues', async ({ folder }) => {
  const [file, output] = [path.join(folder, 'in.jsonl'), path.join(folder, 'replies.jsonl')];
  const ids = Array.from({ length: 300 }, (_, n) => `${n}`);
  writeFileSync(file, ids.map((id) => chat(id, { max_tokens: 60, ignore_eos: true })).join(''));
  const args = ['batch', 'run', file, '-o', output, ...LOAD];
  const lines = () => {
    try {
      return readFileSync(output, 'utf8').split('\n').length - 1;
    } catch {
      return 0;
    }
  };
  const stopAfter = async (count: number, signal: NodeJS.Signals) => {
    const child = startChild('ts/cli.ts', args);
    await until(() => lines() >= count, `${count} replies are written`);
    child.process.kill(signal);
    return { ...(await child.exited), stderr: child.output.stderr };
  };
  assert.is((await stopAfter(5, 'SIGKILL')).signal, 'SIGKILL');
  const interrupted = await stopAfter(lines() + 5, 'SIGINT');
  assert.is(interrupted.code, 130);
  assert.match(interrupted.stderr, /run the command again to continue/);
  const { code, stderr } = await runCli(args);
  assert.is(code, 0, stderr);
  assert.equal(
    repliesIn(output)
      .map(({ custom_id }) => Number(custom_id))
      .sort((one, other) => one - other),
    ids.map(Number),
  );
});

test('refuses wrong files before it loads the model', async ({ folder }) => {
  const [file, output] = [path.join(folder, 'in.jsonl'), path.join(folder, 'other.txt')];
  writeFileSync(file, `${chat('a')}{\n${chat('a')}${JSON.stringify({ custom_id: 'b', url: '/v1/files', body: {} })}`);
  const wrong = await callCli(['batch', 'run', file, '--model', 'none.gguf']);
  assert.is(wrong.code, 2, wrong.stderr);
  assert.match(wrong.stderr, /line 2: .*JSON.*\n.*line 3: `custom_id` must be unique.*\n.*line 4: `url` must be/s);
  const missing = await callCli(['batch', 'run', path.join(folder, 'none.jsonl')]);
  assert.is(missing.code, 2);
  assert.match(missing.stderr, /Could not read .*none\.jsonl/);
  writeFileSync(file, chat('a'));
  writeFileSync(output, 'My notes\n');
  const foreign = await callCli(['batch', 'run', file, '-o', output]);
  assert.is(foreign.code, 2);
  assert.match(foreign.stderr, /is not the output of a batch/);
  assert.is(readFileSync(output, 'utf8'), 'My notes\n');
});

test.run();
