// A new process of the cloud takes over while clients call.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CloudClient } from '../../ts/cli/cloud/client.js';
import { takePassedSocket } from '../../ts/cloud/hand-over.js';
import { readAddress } from '../../ts/cloud/places.js';
import type { QueuedJson } from '../../ts/cloud/queue/management-routes.js';
import { ORG, TestCloud } from '../support/cloud.js';
import { isAlive } from '../support/engine-process.js';
import { until } from '../support/until.js';

const test = suite('cloud: hand-over');
const BETWEEN_MS = 20;
const END = 'data: [DONE]\n\n';

/** One request on its own connection. */
function call(url: string): Promise<number> {
  const body = JSON.stringify({
    model: 'chasqui-demo',
    messages: [{ role: 'user', content: 'Hello!' }],
    max_tokens: 1,
  });
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: 'POST', agent: false }, (reply) => {
      reply.resume().once('end', () => resolve(reply.statusCode ?? 0));
    });
    request.once('error', reject);
    request.end(body);
  });
}

/** Returns the id of the request. */
async function enqueue(cloud: TestCloud, maxTokens: number): Promise<string> {
  const messages = [{ role: 'user', content: 'Hello!' }];
  const options = { max_tokens: maxTokens, ignore_eos: true, temperature: 9 };
  const reply = await fetch(`${cloud.url}/queue/${ORG}/single/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Key ${cloud.key}` },
    body: JSON.stringify({ model: 'chasqui-demo', messages, ...options }),
  });
  assert.is(reply.status, 200);
  return ((await reply.json()) as { request_id: string }).request_id;
}

async function queueOf({ client }: TestCloud): Promise<QueuedJson[]> {
  return (await client.get<{ requests: QueuedJson[] }>(`/apps/${ORG}/single/queue`)).requests;
}

test('a new process serves the same address; no request and no stream is lost', async () => {
  const cloud = await TestCloud.start();
  const first = cloud.child;
  const pidOf = () => Number(/process (\d+) takes over/.exec(first.output.stderr)?.[1] ?? 0);
  try {
    await cloud.deployed('chat', { scale: { min: 1 }, slots: 16, context: 2048 });
    await cloud.deployed('single', { scale: { min: 1 }, slots: 1, context: 8192 });
    const queued = [await enqueue(cloud, 7500), await enqueue(cloud, 1)];
    await until(async () => (await queueOf(cloud))[0]?.state === 'running', 'the first queued request');
    const before = (await cloud.status('chat')).runners.map(({ id, pid }) => [id, pid]);
    const { token } = readAddress(cloud.home) as { token: string };
    let isOver = false;
    const streams: Promise<string>[] = [];
    const ends: unknown[] = [];
    const times: number[] = [];
    const calls: Promise<void>[] = [];
    const client = (async () => {
      while (!isOver) {
        const sent = call(`${cloud.url}/${ORG}/chat/v1/chat/completions`).catch((error: Error) => error.message);
        calls.push(
          sent.then((end) => {
            ends.push(end);
            times.push(performance.now());
          }),
        );
        await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
      }
    })();
    await until(() => ends.length > 5, 'calls');
    const long = { max_tokens: 600, ignore_eos: true, temperature: 9, stream: true };
    for (let index = 0; index < 3; index++) {
      // Its head has arrived, so the first process has it.
      const reply = await cloud.post('chat', long);
      streams.push(reply.text().then((text) => text.slice(-END.length)));
    }
    first.process.kill('SIGUSR2');
    await until(() => pidOf() > 0, 'the new process');
    assert.equal(await Promise.all(streams), [END, END, END]);
    // The new process keeps the pipes of the first one open.
    await until(() => first.process.exitCode !== null, 'the end of the first process');
    assert.is(first.process.exitCode, 0);
    const count = ends.length;
    await until(() => ends.length > count + 20, 'calls of the new process');
    isOver = true;
    await client;
    await Promise.all(calls);
    assert.equal([...new Set(ends)], [200]);
    const gaps = times.slice(1).map((time, index) => time - (times[index] as number));
    console.log(`longest gap between ${times.length} replies: ${Math.round(Math.max(...gaps))} ms`);
    assert.is.not(readAddress(cloud.home)?.token, token);
    cloud.client = await CloudClient.find(cloud.home);
    assert.equal(
      (await cloud.status('chat')).runners.map(({ id, pid }) => [id, pid]),
      before,
    );
    assert.ok(fs.existsSync(path.join(cloud.home, 'cloud', 'address.json')));
    await until(
      async () => (await queueOf(cloud)).every(({ state }) => state === 'completed'),
      'the queued requests',
      300_000,
    );
    const ended = await queueOf(cloud);
    assert.equal(
      ended.map(({ id, status, attempts }) => [id, status, attempts]),
      queued.reverse().map((id) => [id, 200, 1]),
    );
    // One slot: the second request has not started before the repeated first one has ended.
    const [second, repeated] = ended as [QueuedJson, QueuedJson];
    assert.ok(Number(second.started_at) >= Number(repeated.finished_at));
  } finally {
    // The new process has another token.
    cloud.client = await CloudClient.find(cloud.home);
    const { runners } = await cloud.status('chat');
    const pid = pidOf() || (first.process.pid as number);
    process.kill(pid, 'SIGTERM');
    await until(() => [pid, ...runners.map((each) => each.pid as number)].every((each) => !isAlive(each)), 'the end');
    fs.rmSync(cloud.home, { recursive: true, force: true });
  }
});

test('a passed socket is taken once, and only by the process that it is for', () => {
  const passed: NodeJS.ProcessEnv = { LISTEN_FDS: '1', LISTEN_PID: String(process.pid), LISTEN_FDNAMES: 'http' };
  assert.is(takePassedSocket(passed), 3);
  assert.equal(passed, {});
  assert.is(takePassedSocket(passed), null);
  assert.is(takePassedSocket({ LISTEN_FDS: '1', LISTEN_PID: '1' }), null);
  assert.throws(() => takePassedSocket({ LISTEN_FDS: '2' }), /LISTEN_FDS/);
});

test.run();
