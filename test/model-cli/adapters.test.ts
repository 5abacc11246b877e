// Two models and an adapter of one of them, in a folder of three models, within a budget that holds two.
import { cpSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ListedModel } from '../../ts/api/openai/models/schema.js';
import { estimateMemory } from '../../ts/models/estimate-memory.js';
import { readJson } from '../support/read-json.js';
import { type RunningServer, startServer } from '../support/start-server.js';
import { tinyAdapter } from '../support/tiny-adapter.js';
import { tinyModel } from '../support/tiny-model.js';
import { until } from '../support/until.js';

const test = suite<{ folder: string; adapter: string }>('model-cli: adapters');

const CONTEXT = 2048;
const ARGS = ['--ctx-size', String(CONTEXT), '--threads', '1', '--parallel', '2'];
const MIB = 2 ** 20;

test.before((context) => {
  context.folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-adapted-'));
  context.adapter = tinyAdapter('sql', 1);
  for (const [at, name] of ['one', 'two', 'three'].entries()) {
    cpSync(tinyModel('llama', at + 1), path.join(context.folder, `${name}.gguf`));
  }
});
test.after(({ folder }) => rmSync(folder, { recursive: true }));

interface Answer {
  model: string;
  text: string;
  logprobs: number[];
}

const post = (server: RunningServer, url: string, body: object, signal?: AbortSignal) =>
  fetch(server.url + url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });

async function ask(server: RunningServer, model: string, more: object = {}): Promise<Answer> {
  const body = {
    model,
    prompt: 'Once there was',
    max_tokens: 20,
    temperature: 0,
    ignore_eos: true,
    logprobs: 1,
    ...more,
  };
  const reply = await post(server, '/v1/completions', body);
  const { model: answered, choices, error } = await readJson(reply);
  assert.is(reply.status, 200, JSON.stringify(error));
  const [{ text, logprobs }] = choices;
  return { model: answered, text, logprobs: logprobs.token_logprobs };
}

/** A completion that fills the context and is not read after its first token. */
async function beginLong(server: RunningServer, model: string, signal: AbortSignal): Promise<void> {
  const body = { model, prompt: 'Once', max_tokens: CONTEXT - 100, stream: true, ignore_eos: true };
  const reply = await post(server, '/v1/completions', body, signal);
  await reply.body?.getReader().read();
}

async function list(server: RunningServer): Promise<ListedModel[]> {
  return (await readJson(await fetch(`${server.url}/v1/models`))).data;
}

/** The processes that hold models. */
async function processesOf(server: RunningServer): Promise<Set<number>> {
  return new Set((await list(server)).flatMap(({ status }) => status.pid ?? []));
}

/** Model events of the server until it stops. */
async function eventsOf(server: RunningServer): Promise<{ model: string; status: string }[]> {
  const events: { model: string; status: string }[] = [];
  const reply = await fetch(`${server.url}/models/sse`);
  const read = async () => {
    let text = '';
    for await (const part of reply.body as ReadableStream<Uint8Array>) {
      text += Buffer.from(part).toString();
      const frames = text.split('\n\n');
      text = frames.pop() ?? '';
      for (const frame of frames) {
        if (!frame.startsWith('data: ')) continue;
        const { model, data } = JSON.parse(frame.slice('data: '.length));
        events.push({ model, status: data.status });
      }
    }
  };
  read().catch(() => {});
  return events;
}

function assertSame(actual: Answer, wanted: Answer): void {
  assert.is(actual.text, wanted.text);
  for (const [at, logprob] of actual.logprobs.entries()) {
    assert.ok(Math.abs(logprob - (wanted.logprobs[at] ?? Number.NaN)) < 0.01, `token ${at}: ${logprob}`);
  }
}

test('two models and an adapter answer side by side within a budget that holds two of three', async (context) => {
  const { folder, adapter } = context;
  const fileOf = (name: string) => path.join(folder, `${name}.gguf`);
  // Completion and memory of the adapted model without other models.
  const alone = await startServer(['--model', fileOf('one'), '--lora', adapter, ...ARGS]);
  const [base, adapted] = [await ask(alone, 'one'), await ask(alone, 'one:sql')];
  const measured = (await list(alone))[0]?.status.memory ?? 0;
  await alone.stop();
  assert.not.equal(base.text, adapted.text);
  const estimated = estimateMemory(fileOf('one'), statSync(fileOf('one')).size, { contextSize: CONTEXT, parallel: 2 });
  const [least, most] = [Math.min(measured, estimated), Math.max(measured, estimated)];
  assert.ok(3 * least > 2 * most, `the estimate ${estimated} is near enough to ${measured} to leave no doubt`);

  const budget = Math.ceil((3 * least + 2 * most) / 2 / MIB);
  const lora = `one:sql=${adapter}`;
  const server = await startServer([
    '--models-dir',
    folder,
    '--lora',
    lora,
    '--models-memory',
    String(budget),
    ...ARGS,
  ]);
  try {
    const entries = (await list(server)).map(({ id, parent, status }) => [id, parent, status.value]);
    assert.equal(entries, [
      ['one', undefined, 'unloaded'],
      ['one:sql', 'one', 'unloaded'],
      ['three', undefined, 'unloaded'],
      ['two', undefined, 'unloaded'],
    ]);
    const events = await eventsOf(server);
    await ask(server, 'one');
    const two = await ask(server, 'two');
    const stop = new AbortController();
    await Promise.all(['one', 'two', 'one:sql'].map((model) => beginLong(server, model, stop.signal)));
    const running = Object.fromEntries((await list(server)).map(({ id, status }) => [id, status.running ?? 0]));
    assert.equal(running, { one: 2, 'one:sql': 0, three: 0, two: 1 });
    stop.abort();
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(['one', 'two', 'one:sql'].map((model) => ask(server, model)));
      assert.equal(
        answers.map(({ model }) => model),
        ['one', 'two', 'one:sql'],
      );
      for (const [at, wanted] of [base, two, adapted].entries()) assertSame(answers[at] as Answer, wanted);
      assertSame(await ask(server, 'one', { lora: [{ id: 0 }] }), adapted);
      assertSame(await ask(server, 'sql', { lora: [] }), base);
    }
    assert.is((await processesOf(server)).size, 2);
    const told = () => events.map(({ model, status }) => `${model} ${status}`);
    assert.equal(
      told().filter((each) => /loaded$/.test(each)),
      [
        ...['one', 'one:sql', 'three', 'two'].map((id) => `${id} unloaded`),
        ...['one', 'one:sql', 'two'].map((id) => `${id} loaded`),
      ],
    );
    // The budget is what keeps the third out: for it one of the two makes way.
    await until(async () => (await list(server)).every(({ status }) => !status.running), 'nobody uses them');
    assert.is((await ask(server, 'three')).model, 'three');
    const states = (await list(server)).map(({ status }) => status.value);
    assert.is(states.filter((state) => state === 'loaded').length, states[0] === 'loaded' ? 3 : 2);
    assert.is((await processesOf(server)).size, 2);
    assertSame(await ask(server, 'one:sql'), adapted);
  } finally {
    await server.stop();
  }
});

test('a preset file has models with options and adapters of their own', async ({ folder, adapter }) => {
  const file = path.join(folder, 'models.ini');
  const lines = [
    '[*]',
    'ctx-size = 512',
    '[adapted]',
    `model = ${path.join(folder, 'one.gguf')}`,
    `lora = sql=${adapter}`,
    'load-on-startup = true',
    '[two]',
    'ctx-size = 1024',
    'pin = true',
    'stop-timeout = 5',
  ];
  writeFileSync(file, lines.join('\n'));
  const server = await startServer(['--models-preset', file, '--models-dir', folder, '--threads', '1']);
  try {
    await ask(server, 'three');
    const seen = (await list(server)).map(({ id, status, context_length: length }) => [id, status.value, length ?? 0]);
    assert.equal(seen, [
      ['adapted', 'loaded', 512],
      ['adapted:sql', 'loaded', 512],
      ['three', 'loaded', 512],
      ['two', 'loaded', 1024],
    ]);
    assert.is((await list(server)).find(({ id }) => id === 'two')?.status.pinned, true);
    const [base, adapted] = [await ask(server, 'adapted'), await ask(server, 'sql')];
    assert.not.equal(base.text, adapted.text);
    assertSame(await ask(server, 'one'), base);
  } finally {
    await server.stop();
  }
});

test('an adapter of another model ends the start, with the reason', async ({ folder }) => {
  const file = tinyAdapter('bad', 1, { tensors: () => [] });
  const failed = await startServer(['--model', path.join(folder, 'one.gguf'), '--lora', file, ...ARGS]).then(
    () => null,
    (error: Error) => error.message,
  );
  assert.match(failed ?? '', /has no weights/);
});

test.run();
