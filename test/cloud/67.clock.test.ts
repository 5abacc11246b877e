// The wall clock is set while the cloud runs: it jumps an hour ahead, then two hours back.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TestCloud } from '../support/cloud.js';

const test = suite('cloud: a clock that jumps');
let cloud: TestCloud;

test.before(async () => {
  const clock = pathToFileURL(path.resolve('test/support/jumping-clock.mjs')).href;
  cloud = await TestCloud.start([], { NODE_OPTIONS: `--import ${clock}` });
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

test('runners stay, streams go on, limits count, and keys expire by the clock on the wall', async () => {
  await cloud.deployed('chat', { auth: 'private', scale: { keepAlive: '30m' } });
  const HALF_AN_HOUR = 1800;
  const { key } = await cloud.client.post<{ key: string }>('/keys', {
    org: 'me',
    expires_at: Math.floor(Date.now() / 1000) + HALF_AN_HOUR,
  });
  const asks = async (text: string) => {
    const reply = await cloud.post('chat', { max_tokens: 2 }, { authorization: `Key ${text}` });
    await reply.text();
    return reply.status;
  };
  assert.equal([await asks(cloud.key), await asks(key)], [200, 200]);
  const [runner] = (await cloud.status('chat')).runners;
  const long = { stream: true, max_tokens: 200, ignore_eos: true };
  const jump = () => cloud.child.process.kill('SIGPWR');
  // A new scale makes the supervisor check the runners. The second check comes after a jump that was asked for before.
  const check = async () => {
    for (const max of [2, 3]) await cloud.client.put('/apps/me/chat/scale', { min: 0, max });
  };
  const isAsBefore = async (expected: number) => {
    await check();
    const { state, runners } = await cloud.status('chat');
    assert.is(state, 'ready');
    assert.equal(
      runners.map(({ id }) => id),
      [runner?.id],
    );
    assert.equal([await asks(cloud.key), await asks(key)], [200, expected]);
    await check();
  };
  const reply = await cloud.post('chat', long, { authorization: `Key ${cloud.key}` });
  const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader?.read())?.value ?? '';
  jump();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value;
  assert.match(text, /data: \[DONE\]\n\n$/);
  await isAsBefore(401);
  // Back, and ahead once more, while the runner is idle.
  for (const expected of [200, 401]) {
    jump();
    await isAsBefore(expected);
  }
});

test.run();
