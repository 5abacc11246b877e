import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHAT_PATH, chatBody } from '../support/build-app.js';
import { bundleScript, type Child, startChild, untilWritten } from '../support/child.js';
import { readJson } from '../support/read-json.js';
import { readSse } from '../support/read-sse.js';
import { until } from '../support/until.js';

const test = suite('cli: signals');
let server = '';

test.before(async () => {
  server = await bundleScript('test/support/serve-fake.ts');
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} lets a running answer finish, then exits with 0`, async () => {
    const { child, url } = await startServer(60_000);
    const reply = await startChat(child, url);
    child.process.kill(signal);
    await untilWritten(child, /stopping/);
    child.process.stdin?.write('\n');
    const { events, done } = readSse(await reply.text());
    assert.ok(done);
    assert.is(events.at(-1).choices[0].finish_reason, 'stop');
    assert.equal(await child.exited, { code: 0, signal: null }, child.output.stderr);
  });
}

test('while an answer finishes it is live and not ready', async () => {
  const { child, url } = await startServer(60_000);
  const reply = await startChat(child, url);
  assert.is((await fetch(`${url}/ready`)).status, 200);
  child.process.kill('SIGTERM');
  await until(async () => (await fetch(`${url}/ready`)).status === 503, 'it is not ready');
  assert.is((await fetch(`${url}/live`)).status, 200);
  assert.is((await fetch(`${url}/v1/models`)).status, 503);
  child.process.stdin?.write('\n');
  assert.ok(readSse(await reply.text()).done);
  assert.equal(await child.exited, { code: 0, signal: null }, child.output.stderr);
});

test('an engine that has failed shows in the exit code', async () => {
  const { child } = await startServer(1, 60_000, ['60000', 'failed']);
  child.process.kill('SIGTERM');
  assert.equal(await child.exited, { code: 1, signal: null });
  assert.match(child.output.stderr, /stopping failed: .*engine had failed/);
});

test('an answer that does not finish in time ends with an error', async () => {
  const { child, url } = await startServer(1);
  const reply = await startChat(child, url);
  child.process.kill('SIGTERM');
  const { events, done } = readSse(await reply.text());
  assert.not.ok(done);
  assert.is(events.at(-1).error.code, 'engine_closed');
  assert.equal(await child.exited, { code: 0, signal: null }, child.output.stderr);
});

test('a second signal ends it at once', async () => {
  const { child, url } = await startServer(60_000, 0);
  const reply = await startChat(child, url);
  child.process.kill('SIGINT');
  await untilWritten(child, /stopping/);
  child.process.kill('SIGINT');
  assert.equal(await child.exited, { code: 130, signal: null });
  assert.is(await reply.text().catch(() => 'broken off'), 'broken off');
});

test('the echo of the first signal is no second one', async () => {
  const { child, url } = await startServer(60_000, 60_000);
  const reply = await startChat(child, url);
  child.process.kill('SIGINT');
  await untilWritten(child, /stopping/);
  child.process.kill('SIGINT');
  child.process.stdin?.write('\n');
  assert.ok(readSse(await reply.text()).done);
  assert.equal(await child.exited, { code: 0, signal: null });
});

const KILLED = { code: null, signal: 'SIGKILL' };

test('an engine that never ends is not waited for beyond the deadline', async () => {
  const { child } = await startServer(1, 60_000, ['2000', 'stuck']);
  child.process.kill('SIGTERM');
  assert.equal(await child.exited, KILLED);
  assert.match(child.output.stderr, /the engine has not stopped in time/);
});

test('a second signal ends it at once, whatever the engine does', async () => {
  const { child } = await startServer(1, 0, ['60000', 'stuck']);
  child.process.kill('SIGTERM');
  await untilWritten(child, /stopping/);
  child.process.kill('SIGTERM');
  assert.equal(await child.exited, KILLED);
});

async function startServer(
  drainMs: number,
  echoMs = 60_000,
  more: string[] = [],
): Promise<{ child: Child; url: string }> {
  const child = startChild(server, [String(drainMs), String(echoMs), ...more]);
  const [url] = await untilWritten(child, /http:\S+/);
  return { child, url };
}

/** The first of the two batches comes at once. */
async function startChat(child: Child, url: string): Promise<Response> {
  const body = JSON.stringify(chatBody({ stream: true }));
  const reply = fetch(url + CHAT_PATH, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  await until(() => isActive(url), 'the job is submitted');
  child.process.stdin?.write('\n');
  return reply;
}

async function isActive(url: string): Promise<boolean> {
  return (await readJson(await fetch(`${url}/health`))).active === 1;
}

test.run();
