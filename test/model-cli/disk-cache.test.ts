// Conversations on disk, with the real server: stopped and started again, and killed.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startChild, untilWritten } from '../support/child.js';
import { startServer } from '../support/start-server.js';
import { until } from '../support/until.js';

const test = suite<{ folder: string }>('model-cli: conversations on disk');

test.before.each((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-restart-'));
});
test.after.each(({ folder }) => fs.rmSync(folder, { recursive: true, force: true }));

const messages = [
  { role: 'system', content: 'You are a helpful assistant who counts. '.repeat(40) },
  { role: 'user', content: 'Count from 3 to 6' },
];

interface Completion {
  choices: { message: { content: string } }[];
  usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
}

async function ask(url: string, asked = messages): Promise<Completion> {
  const body = JSON.stringify({ model: 'chasqui-demo', messages: asked, temperature: 0, max_tokens: 32 });
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
  assert.is(reply.status, 200);
  return (await reply.json()) as Completion;
}

const options = (folder: string) => [
  '--ctx-size',
  '2048',
  '--threads',
  '1',
  '--cache-disk',
  '64',
  '--data-dir',
  folder,
];

test('a server that is started again has the conversation, in its data folder', async ({ folder }) => {
  const first = await startServer(options(folder));
  const before = await ask(first.url);
  assert.is(before.usage.prompt_tokens_details.cached_tokens, 0);
  await first.stop();
  const [model = ''] = fs.readdirSync(path.join(folder, 'cache'));
  assert.is(fs.readdirSync(path.join(folder, 'cache', model)).length, 1);
  if (process.platform !== 'win32') assert.is(fs.statSync(path.join(folder, 'cache', model)).mode & 0o077, 0);

  const second = await startServer(options(folder));
  const { choices, usage } = await ask(second.url);
  assert.is(usage.prompt_tokens_details.cached_tokens, usage.prompt_tokens - 1);
  assert.equal(choices, before.choices);
  await second.stop();
});

test('two servers share a folder', async ({ folder }) => {
  const servers = await Promise.all([startServer(options(folder)), startServer(options(folder))]);
  await Promise.all(servers.map(({ url }) => ask(url)));
  await Promise.all(servers.map((server) => server.stop()));
  const third = await startServer(options(folder));
  const { usage } = await ask(third.url);
  assert.is(usage.prompt_tokens_details.cached_tokens, usage.prompt_tokens - 1);
  await third.stop();
});

test('of a server that is killed, what it had written is found, and nothing that it was writing', async ({
  folder,
}) => {
  const child = startChild('ts/cli.ts', ['serve', '--port', '0', '--parallel', '1', ...options(folder)]);
  const [, url = ''] = await untilWritten(child, /^Serving .* at (http:\S+)\/v1$/m);
  const before = await ask(url);
  await ask(url, [{ role: 'user', content: `Count. ${'One and two and three. '.repeat(60)}` }]);
  const written = () =>
    fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.state'));
  await until(() => written().length === 1, 'the first conversation is on disk');
  child.process.kill('SIGKILL');
  await child.exited;
  const whole = path.join(folder, written()[0] as string);
  fs.copyFileSync(whole, `${whole}.1.part`);
  fs.truncateSync(`${whole}.1.part`, fs.statSync(whole).size >> 1);

  const second = await startServer(['--parallel', '1', ...options(folder)]);
  const { choices, usage } = await ask(second.url);
  assert.is(usage.prompt_tokens_details.cached_tokens, usage.prompt_tokens - 1);
  assert.equal(choices, before.choices);
  await second.stop();
});

test('a server with another number of slots computes the conversation, and keeps its own', async ({ folder }) => {
  const first = await startServer(['--parallel', '1', ...options(folder)]);
  const before = await ask(first.url);
  await first.stop();
  for (const wanted of [0, before.usage.prompt_tokens - 1]) {
    const other = await startServer(['--parallel', '2', ...options(folder)]);
    const { choices, usage } = await ask(other.url);
    assert.is(usage.prompt_tokens_details.cached_tokens, wanted);
    assert.equal(choices, before.choices);
    await other.stop();
  }
});

test.run();
