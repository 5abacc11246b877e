// Several runners of an app: conversations stay where they are cached, and idle runners steal work.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { finishOf } from '../support/fake-engine.js';
import { closeGateways, postChat, startGateway, startRunner, TestDeployment } from '../support/gateway.js';
import { until } from '../support/until.js';

const test = suite('cloud: several runners');

test.after.each(closeGateways);

const conversation = (name: string, turns: number) =>
  Array.from({ length: 2 * turns + 1 }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `${name} ${at} ${'x'.repeat(600)}`,
  }));

test('the turns of a conversation go to the runner that has the earlier ones', async () => {
  // Each says that it had all of the prompt in its cache.
  const cached = { batches: () => [[{ text: 'ok', finish: finishOf(100, 1, { cachedTokens: 99 }) }]] };
  const runners = await Promise.all([startRunner(cached), startRunner(cached), startRunner(cached)]);
  const app = new TestDeployment('acme', 'chat').run(...runners.map(({ socketPath }) => socketPath));
  const gateway = await startGateway([app]);
  const homes = new Map<string, Set<string | null>>();
  for (let turn = 1; turn < 6; turn++) {
    for (const name of ['one', 'two', 'three', 'four', 'five', 'six']) {
      const reply = await postChat(gateway, { messages: conversation(name, turn), stream: turn % 2 === 0 });
      await reply.text();
      homes.set(name, (homes.get(name) ?? new Set()).add(reply.headers.get('x-chasqui-runner')));
    }
  }
  for (const [name, home] of homes) assert.is(home.size, 1, name);
  assert.is(new Set([...homes.values()].flatMap((home) => [...home])).size, 3, 'all runners have some');
});

test('a runner with free slots takes requests that wait for another one', async () => {
  const busy = await startRunner({ manual: true });
  const app = new TestDeployment('acme', 'chat').run({ id: 'busy', socketPath: busy.socketPath, slots: 1 });
  const gateway = await startGateway([app]);
  const replies = Array.from({ length: 4 }, () => postChat(gateway, { stream: true }).then((reply) => reply.text()));
  await until(() => app.demand.running === 2 && app.demand.queued === 2, 'two wait');
  const fresh = await startRunner();
  app.run(
    { id: 'busy', socketPath: busy.socketPath, slots: 1 },
    { id: 'fresh', socketPath: fresh.socketPath, slots: 1 },
  );
  await until(() => app.demand.queued === 0 && fresh.engine.jobs.length === 2, 'the new one has both');
  busy.engine.step();
  await until(() => {
    busy.engine.step();
    return busy.engine.running.size === 0;
  }, 'the others are over');
  assert.is((await Promise.all(replies)).filter((text) => text.includes('[DONE]')).length, 4);
  await until(() => app.demand.running === 0, 'nothing is left');
});

test('a request waiting for a runner that ends waits for the next one', async () => {
  const [one, other] = [await startRunner({ manual: true }), await startRunner({ manual: true })];
  const [first, second] = [
    { id: 'one', socketPath: one.socketPath, slots: 1 },
    { id: 'other', socketPath: other.socketPath, slots: 1 },
  ];
  const app = new TestDeployment('acme', 'chat').run(first, second);
  const gateway = await startGateway([app]);
  const replies = Array.from({ length: 8 }, () => postChat(gateway, { stream: true }).then((reply) => reply.text()));
  await until(() => app.demand.running === 4 && app.demand.queued === 4, 'both are full');
  app.run(second);
  await until(() => {
    one.engine.step();
    other.engine.step();
    return app.demand.running === 0 && app.demand.queued === 0;
  }, 'all are over');
  assert.is((await Promise.all(replies)).filter((text) => text.includes('[DONE]')).length, 8);
  assert.is(one.engine.jobs.length, 2);
  assert.is(other.engine.jobs.length, 6);
});

test.run();
