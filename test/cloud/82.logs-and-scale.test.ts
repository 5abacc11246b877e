// Runner logs appear in the terminal immediately, and the script determines the number of runners.
import fs from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, startChild } from '../support/child.js';
import { TestCloud, writeScript } from '../support/cloud.js';
import { ENDLESS, ENDLESS_CONTEXT } from '../support/long-answer.js';
import { until } from '../support/until.js';

const test = suite('cloud: logs and scale');
let cloud: TestCloud;

test.before(async () => {
  cloud = await TestCloud.start();
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** Sends a request, and returns its id. */
async function call(app: string): Promise<string> {
  const reply = await cloud.post(app, { max_tokens: 2 });
  assert.is(reply.status, 200);
  await reply.arrayBuffer();
  return reply.headers.get('x-request-id') as string;
}

async function untilShown(child: Child, what: string): Promise<void> {
  await until(() => child.output.stdout.includes(what), `${what} in the log`, 60_000);
}

test('apps logs --follow shows what runners write, those that come later included, until Ctrl-C', async () => {
  await cloud.deployed('chat', { scale: { min: 1 } });
  const first = await call('chat');
  const people = startChild('ts/cli.ts', ['apps', 'logs', 'chat', '--follow'], cloud.variables);
  const programs = startChild('ts/cli.ts', ['apps', 'logs', 'chat', '--follow', '--json'], cloud.variables);
  for (const child of [people, programs]) await untilShown(child, first);
  const second = await call('chat');
  for (const child of [people, programs]) await untilShown(child, second);
  const [old] = (await cloud.status('chat')).runners;
  assert.is((await cloud.cli('apps', 'restart', 'chat')).code, 0);
  const third = await call('chat');
  for (const child of [people, programs]) await untilShown(child, third);
  const lines = people.output.stdout.split('\n');
  const runnerOf = (id: string) => lines.find((line) => line.includes(id))?.split(' ')[0];
  assert.is(runnerOf(second), old?.id);
  assert.is.not(runnerOf(third), old?.id);
  assert.match(runnerOf(third) ?? '', /^r[0-9a-f]{12}$/);
  // Nothing is shown twice.
  for (const id of [first, second, third]) assert.is(count(people.output.stdout, new RegExp(id, 'g')), 1);
  const shown = programs.output.stdout.split('\n').slice(0, -1);
  assert.ok(shown.every((line) => typeof JSON.parse(line).text === 'string'));
  for (const child of [people, programs]) {
    assert.is(child.process.exitCode, null, child.output.stderr);
    child.process.kill('SIGINT');
    await child.exited;
    assert.is(child.output.stderr, '');
  }
});

test("control characters of a runner's output are escaped", async () => {
  const [runner] = (await cloud.status('chat')).runners;
  const logs = path.join(cloud.home, 'cloud/logs');
  const file = fs
    .readdirSync(logs, { recursive: true, encoding: 'utf8' })
    .find((name) => name.endsWith(`${runner?.id}.log`));
  fs.appendFileSync(path.join(logs, file as string), '\x1b]52;c;ZXZpbA==\x07 \x1b]0;title\x07\u009b2J\r\n');
  const { code, stdout } = await cloud.cli('apps', 'logs', 'chat');
  assert.is(code, 0);
  assert.match(stdout, `${runner?.id}  ?]52;c;ZXZpbA==? ?]0;title??2J?\n`);
  assert.not.match(stdout.replaceAll('\n', ''), /\p{Cc}/u);
});

test('the message of a deployment controls neither terminal nor log', async () => {
  const message = 'new\n2026-01-01 forged\x1b[2J\u009b2J';
  await cloud.deploy('chat', { slots: 3 }, { message });
  const { stdout } = await cloud.cli('apps', 'events', 'chat');
  for (const text of [stdout, cloud.child.output.stderr]) {
    assert.match(text, 'new?2026-01-01 forged?[2J?2J');
    assert.not.match(text.replaceAll('\n', ''), /\p{Cc}/u);
  }
});

test('run shows in its terminal what its runner writes', async () => {
  const script = writeScript(`export const once = app({ model: 'demo', context: 512, auth: 'public' });`);
  const child = startChild('ts/cli.ts', ['run', script, '--json'], cloud.variables);
  await until(() => child.output.stdout.includes('"url"'), 'the address', 60_000);
  const { url } = JSON.parse(child.output.stdout.split('\n').find((line) => line.startsWith('{"app"')) ?? '{}');
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'chasqui-demo', max_tokens: 2, messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  assert.is(reply.status, 200);
  const id = reply.headers.get('x-request-id') as string;
  await until(() => child.output.stderr.includes(id), 'the request in the log', 60_000);
  child.process.kill('SIGINT');
  assert.is((await child.exited).code, 0);
});

test('a script’s min is there without a call, its max is not passed, and what is too many leaves', async () => {
  const script = writeScript(
    `export const scaled = app({ model: 'demo', context: 2048, slots: 1, threads: 1, auth: 'public',
      scale: { min: 1, max: 2, keepAlive: '500ms' } });`,
  );
  assert.is((await cloud.cli('deploy', script)).code, 0);
  const { scale } = await cloud.status('scaled');
  assert.equal([scale.min, scale.max], [1, 2]);
  await cloud.untilApp('scaled', ({ ready, demand }) => ready === 1 && demand.running === 0);
  // Six simultaneous requests, two of them running: two runners, and never a third.
  let areEnough = false;
  const ends: string[] = [];
  const clients = Array.from({ length: 6 }, async () => {
    while (!areEnough) ends.push((await cloud.stream('scaled', { max_tokens: 300, ignore_eos: true })).end);
  });
  await cloud.untilApp('scaled', ({ ready, runners }) => {
    assert.ok(runners.length <= 2, `${runners.length} runners`);
    return ready === 2;
  });
  areEnough = true;
  await Promise.all(clients);
  assert.equal([...new Set(ends)], ['done']);
  await cloud.untilApp('scaled', ({ runners }) => {
    assert.ok(runners.length >= 1, 'none is left');
    return runners.length === 1 && runners[0]?.state === 'idle';
  });
  const events = await cloud.events('scaled');
  assert.is(new Set(events.flatMap(({ runner }) => runner ?? [])).size, 2, 'two were started in all');
  assert.ok(events.some(({ state, reason }) => state === 'DRAINING' && reason === 'no longer needed'));
});

test('the runner that leaves is the idle one, even if it is the oldest', async () => {
  await cloud.deployed('picked', { context: ENDLESS_CONTEXT, slots: 1, scale: { min: 2, keepAlive: '100ms' } });
  await cloud.untilApp('picked', ({ ready }) => ready === 2);
  const busy = async () => {
    const { runners } = await cloud.status('picked');
    return runners.flatMap(({ state }, index) => (state === 'busy' ? [index] : []));
  };
  const begin = () => cloud.post('picked', { ...ENDLESS, temperature: 9, stream: true });
  const first = await begin();
  const isNewest = (await busy()).includes(1);
  // The second request goes to the other runner.
  const second = isNewest ? first : await begin();
  if (!isNewest) await first.body?.cancel();
  await until(async () => String(await busy()) === '1', 'only the newest runner is busy');
  const newest = (await cloud.status('picked')).runners[1]?.id;
  assert.is((await cloud.cli('apps', 'scale', 'picked', '--min', '1', '--max', '2')).code, 0);
  await cloud.untilApp('picked', ({ runners }) => runners.length === 1);
  assert.is((await cloud.status('picked')).runners[0]?.id, newest);
  await second.body?.cancel();
});

test('as many requests wait as maxQueue allows', async () => {
  await cloud.deployed('queued', { context: ENDLESS_CONTEXT, slots: 1, maxQueue: 1, scale: { min: 1 } });
  const streams = [0, 1].map(() => cloud.post('queued', { ...ENDLESS, stream: true }));
  await cloud.untilApp('queued', ({ demand }) => demand.running + demand.queued === 2);
  assert.is((await cloud.post('queued', { max_tokens: 1 })).status, 429);
  for (const each of streams) await (await each).body?.cancel();
  await cloud.untilApp('queued', ({ demand }) => demand.running === 0);
  await cloud.deployed('many', { slots: 4 });
  const many = Array.from({ length: 100 }, () => cloud.post('many', { max_tokens: 1 }).then(({ status }) => status));
  assert.equal([...new Set(await Promise.all(many))], [200]);
});

test('a runner stays for keepAlive after the last request, and no longer', async () => {
  await cloud.deployed('brief', { scale: { keepAlive: '500ms' } });
  await cloud.deployed('long', { scale: { keepAlive: '1h' } });
  for (const app of ['brief', 'long']) await call(app);
  const [runner] = (await cloud.status('long')).runners;
  await cloud.untilApp('brief', ({ state }) => state === 'asleep');
  // Both are looked at once a second; the one that waits for an hour has been looked at as often.
  const { state, runners } = await cloud.status('long');
  assert.equal([state, runners[0]?.id], ['ready', runner?.id]);
  await call('brief');
});

test.run();
