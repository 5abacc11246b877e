// The gateway in front of real runners: processes with the demo model, each on a socket of its own.
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, startChild, untilWritten } from '../support/child.js';
import { closeGateways, KEY, socketPath, startGateway, TestDeployment, type TestGateway } from '../support/gateway.js';
import { ENDLESS } from '../support/long-answer.js';
import { until } from '../support/until.js';

const test = suite('cloud: real runners');

interface Runner {
  id: string;
  socketPath: string;
  slots: number;
  child: Child;
}

const runners: Runner[] = [];
const app = new TestDeployment('acme', 'chat');
let gateway: TestGateway;
let client: OpenAI;
let model = '';

async function startProcess(id: string): Promise<Runner> {
  const file = socketPath();
  const child = startChild('test/support/serve-on-socket.ts', [file]);
  await untilWritten(child, /listening/);
  return { id, socketPath: file, slots: 4, child };
}

test.before(async () => {
  for (const id of ['one', 'two', 'three']) runners.push(await startProcess(id));
  app.run(...runners);
  gateway = await startGateway([app]);
  client = new OpenAI({
    apiKey: 'unused',
    baseURL: `${gateway.url}/acme/chat/v1`,
    defaultHeaders: { authorization: `Key ${KEY}` },
    maxRetries: 0,
  });
  model = (await client.models.list()).data[0]?.id ?? '';
});

test.after(async () => {
  for (const { child } of runners) child.process.kill('SIGKILL');
  await closeGateways();
});

const question = (name: string) => `${name}: ${'Tell me about the sea and the stars. '.repeat(12)}`;

test('conversations of the openai client stay on their runners, whose caches have their earlier turns', async () => {
  const homes = new Map<string, Set<string | null>>();
  const conversations = ['Ana', 'Ben', 'Cleo', 'Dora', 'Emil', 'Fay'].map((name) => ({
    name,
    messages: [{ role: 'user', content: question(name) }] as OpenAI.Chat.ChatCompletionMessageParam[],
  }));
  for (let turn = 0; turn < 3; turn++) {
    for (const { name, messages } of conversations) {
      const { data, response } = await client.chat.completions
        .create({ model, messages, max_tokens: 8, temperature: 0 })
        .withResponse();
      homes.set(name, (homes.get(name) ?? new Set()).add(response.headers.get('x-chasqui-runner')));
      const cached = data.usage?.prompt_tokens_details?.cached_tokens ?? 0;
      if (turn > 0)
        assert.ok(cached > (data.usage?.prompt_tokens ?? 0) / 2, `${name}: only ${cached} tokens were cached`);
      messages.push(
        { role: 'assistant', content: data.choices[0]?.message.content ?? '' },
        { role: 'user', content: 'And?' },
      );
    }
  }
  for (const [name, home] of homes) assert.is(home.size, 1, `${name} was sent about`);
  assert.is(new Set([...homes.values()].flatMap((home) => [...home])).size, 3);
});

test("the usage is the runner's", async () => {
  gateway.usage.length = 0;
  const stream = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 12,
    stream: true,
    stream_options: { include_usage: true },
  });
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of stream) usage = chunk.usage ?? usage;
  await until(() => gateway.usage.length === 1, 'it is counted');
  const { promptTokens, completionTokens } = gateway.usage[0] as (typeof gateway.usage)[number];
  assert.equal([promptTokens, completionTokens], [usage?.prompt_tokens, usage?.completion_tokens]);
});

for (const end of ['abort', 'kill'] as const) {
  test(`of a reply in one piece that ends early, what the runner computed is counted, by ${end}`, async () => {
    const victim = end === 'abort' ? (runners[0] as Runner) : await startProcess('victim');
    app.run(victim);
    gateway.usage.length = 0;
    gateway.progress.length = 0;
    const body = { model, messages: [{ role: 'user' as const, content: 'Once upon a time' }], ignore_eos: true };
    const { usage } = await client.chat.completions.create({ ...body, max_tokens: 1 });
    const leaving = new AbortController();
    const options = { signal: leaving.signal };
    const replying = client.chat.completions.create({ ...body, ...ENDLESS, n: 4 }, options).catch(() => null);
    await until(() => (gateway.progress.at(-1)?.completionTokens ?? 0) > 1, 'it is computed');
    if (end === 'abort') leaving.abort();
    else victim.child.process.kill('SIGKILL');
    assert.is(await replying, null);
    await until(() => gateway.usage.length === 2, 'it is counted');
    const { promptTokens = 0, completionTokens = 0 } = gateway.usage[1] ?? {};
    assert.is(promptTokens, usage?.prompt_tokens);
    assert.ok(completionTokens >= (gateway.progress.at(-1)?.completionTokens ?? 0), `${completionTokens} are counted`);
    app.failures.length = 0;
  });
}

test('a runner that is killed ends its streams with an error frame; what had not begun is done elsewhere', async () => {
  const victim = runners[0] as Runner;
  app.run(victim);
  const stream = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'Once upon a time' }],
    stream: true,
    ...ENDLESS,
  });
  const events = stream[Symbol.asyncIterator]();
  await events.next();
  victim.child.process.kill('SIGKILL');
  let failure: { code?: string | null } = {};
  try {
    while (!(await events.next()).done);
  } catch (error) {
    failure = error as { code?: string | null };
  }
  assert.is(failure.code, 'runner_failed');
  // The directory does not know yet that the runner has ended.
  app.run(victim, ...runners.slice(1));
  const before = app.failures.length;
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, number) =>
      client.chat.completions.create({ model, messages: [{ role: 'user', content: `${number}` }], max_tokens: 2 }),
    ),
  );
  assert.is(replies.length, 12);
  assert.ok(app.failures.length > before, 'the runner was reported');
  assert.ok(app.failures.every((failed) => failed.startsWith('one: ')));
  await until(() => app.demand.running === 0 && app.demand.queued === 0, 'nothing is left');
  assert.equal(gateway.errors, []);
});

test.run();
