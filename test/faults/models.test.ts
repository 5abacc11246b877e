// Several models of one server, each in a process of its own, within a budget that holds one of them.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, runCli, startChild, untilWritten } from '../support/child.js';
import { demoModelPath } from '../support/demo-model.js';
import { enginesOf, isAlive, preparationsOf, residentMiB, SHORT_DELAYS } from '../support/engine-process.js';
import { readJson } from '../support/read-json.js';
import { until } from '../support/until.js';

interface Context {
  folder: string;
}

const test = suite<Context>('faults: several models');

test.before((context) => {
  context.folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-models-'));
  for (const name of ['one', 'two']) copyFileSync(demoModelPath, path.join(context.folder, `${name}.gguf`));
  symlinkSync(path.join(context.folder, 'one.gguf'), path.join(context.folder, 'same.gguf'));
});
test.after(({ folder }) => rmSync(folder, { recursive: true }));

class Served {
  constructor(
    readonly child: Child,
    readonly url: string,
  ) {}

  static async start(args: readonly string[]): Promise<Served> {
    const all = ['serve', '--port', '0', '--ctx-size', '512', '--threads', '1', ...args];
    const child = startChild('ts/cli.ts', all, SHORT_DELAYS);
    const [, url = ''] = await untilWritten(child, /^Serving .* at (http:\S+)\/v1$/m);
    return new Served(child, url);
  }

  get processes(): number {
    return enginesOf(this.child.process.pid as number).length;
  }

  async ask(model: string, body: object = {}): Promise<{ status: number; model?: string; code?: string }> {
    const reply = await this.post('/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: 'Count from 3 to 9' }],
      max_tokens: 8,
      ...body,
    });
    const { model: answered, error } = await readJson(reply);
    return { status: reply.status, ...(error ? { code: error.code } : { model: answered }) };
  }

  post(url: string, body: object): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    return fetch(this.url + url, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  async states(): Promise<Record<string, string>> {
    const { data } = await readJson(await fetch(`${this.url}/v1/models`));
    return Object.fromEntries(
      data.map((each: { id: string; status: { value: string } }) => [each.id, each.status.value]),
    );
  }

  async stop(): Promise<void> {
    this.child.process.kill('SIGTERM');
    assert.equal(await this.child.exited, { code: 0, signal: null }, this.child.output.stderr);
  }
}

/** Holds the processes of one engine with the demo model, and not of two. */
const ONE = ['--models-memory', '250'];

test('a folder: each is loaded when it is named, and makes way for the other', async ({ folder }) => {
  const served = await Served.start(['--models-dir', folder, ...ONE]);
  await until(() => served.processes === 0, 'the end of a process that was started early and is not needed');
  assert.equal(await served.states(), { one: 'unloaded', two: 'unloaded' });
  assert.is((await fetch(`${served.url}/ready`)).status, 200);
  assert.is((await fetch(`${served.url}/health`)).status, 200);
  assert.equal(await served.ask('one'), { status: 200, model: 'one' });
  assert.equal([served.processes, await served.states()], [1, { one: 'loaded', two: 'unloaded' }]);
  assert.equal(await served.ask('two'), { status: 200, model: 'two' });
  assert.equal(await served.states(), { one: 'unloaded', two: 'loaded' });
  await until(() => served.processes === 1, 'one process');
  assert.equal(await served.ask('same'), { status: 200, model: 'one' });
  assert.equal(await served.ask('three'), { status: 404, code: 'model_not_found' });
  await served.stop();
});

test('clients of both at once are all answered, with never more than one of them loaded', async ({ folder }) => {
  const served = await Served.start(['--models-dir', folder, ...ONE]);
  let most = 0;
  const counting = setInterval(async () => {
    const states = Object.values(await served.states().catch(() => ({})));
    most = Math.max(most, states.filter((state) => state === 'loaded' || state === 'loading').length);
  }, 20);
  const models = ['one', 'two', 'one', 'two', 'two', 'one', 'two', 'one'];
  const replies = await Promise.all(models.map((model) => served.ask(model)));
  clearInterval(counting);
  assert.equal(
    replies,
    models.map((model) => ({ status: 200, model })),
  );
  assert.is(most, 1);
  await served.stop();
});

test('those that are named are there at the start, side by side within a budget that holds both', async ({
  folder,
}) => {
  const files = ['one', 'two'].flatMap((name) => ['--model', path.join(folder, `${name}.gguf`)]);
  const served = await Served.start([...files, '--models-memory', '1000']);
  assert.is(served.processes, 2);
  assert.equal(await served.ask('two'), { status: 200, model: 'two' });
  await served.stop();
});

test('idle models are unloaded, and loaded again for a request', async ({ folder }) => {
  const files = ['one', 'two'].flatMap((name) => ['--model', path.join(folder, `${name}.gguf`)]);
  const served = await Served.start([...files, '--models-memory', '1000', '--ttl', '1']);
  await until(() => served.processes === 0, 'both are idle', 30_000);
  assert.equal(await served.ask('one'), { status: 200, model: 'one' });
  await served.stop();
});

test('--sleep-idle-seconds ends the processes of an only model, and a request loads it again', async ({ folder }) => {
  const served = await Served.start(['--model', path.join(folder, 'one.gguf'), '--sleep-idle-seconds', '1']);
  await until(() => served.processes === 0, 'it is idle', 30_000);
  assert.equal(await served.ask('one'), { status: 200, model: 'one' });
  await served.stop();
});

/** The process that has this file in its memory. */
function engineOf(server: Served, file: string): number | undefined {
  return enginesOf(server.child.process.pid as number).find((pid) => {
    // It may have ended, or not have read anything yet.
    try {
      return readFileSync(`/proc/${pid}/maps`, 'utf8').includes(`/${file}.gguf`);
    } catch {
      return false;
    }
  });
}

test('a model whose engine ends again and again is given up, and nobody notices who uses the other', async ({
  folder,
}) => {
  const files = ['one', 'two'].flatMap((name) => ['--model', path.join(folder, `${name}.gguf`)]);
  const served = await Served.start([...files, '--models-memory', '1000', '--parallel', '4']);
  let isOver = false;
  const outcomes: unknown[] = [];
  const clients = Array.from({ length: 4 }, async () => {
    while (!isOver) outcomes.push(await served.ask('one', { max_tokens: 60, ignore_eos: true }));
  });
  for (const client of clients) client.catch(() => {});
  const other = engineOf(served, 'one');
  let last: number | undefined;
  for (let end = 0; end < 5; end += 1) {
    await until(() => ![undefined, last].includes(engineOf(served, 'two')), 'an engine', 60_000);
    last = engineOf(served, 'two') as number;
    process.kill(last, 'SIGSEGV');
    await until(() => !isAlive(last as number), 'its end');
  }
  await until(async () => (await served.states()).two === 'failed', 'the model is given up', 60_000);
  assert.equal(await served.ask('two'), { status: 503, code: 'engine_failed' });
  isOver = true;
  await Promise.all(clients);
  assert.ok(outcomes.length > 0);
  for (const outcome of outcomes) assert.equal(outcome, { status: 200, model: 'one' });
  assert.is(engineOf(served, 'one'), other);
  served.child.process.kill('SIGKILL');
  await served.child.exited;
});

test('a chat template that takes all memory fails its own model alone', async ({ folder }) => {
  const template = path.join(folder, 'endless.jinja');
  const preset = path.join(folder, 'models.ini');
  writeFileSync(template, '{% for i in range(100000000) %}{% endfor %}{{ messages }}');
  writeFileSync(preset, `[two]\nmodel = ${path.join(folder, 'two.gguf')}\nchat-template-file = ${template}\n`);
  const files = ['--model', path.join(folder, 'one.gguf'), '--models-preset', preset];
  const served = await Served.start([...files, '--models-memory', '1000', '--prepare-memory', '64']);
  const failing = served.ask('two');
  assert.equal(await served.ask('one'), { status: 200, model: 'one' });
  assert.equal(await failing, { status: 503, code: 'engine_failed' });
  assert.match(served.child.output.stderr, /two was not loaded: .*chat template took more than 576 MiB of memory/);
  assert.equal(await served.ask('one'), { status: 200, model: 'one' });
  await served.stop();
});

test('without autoload one that is not loaded is refused', async ({ folder }) => {
  const files = ['one', 'two'].flatMap((name) => ['--model', path.join(folder, `${name}.gguf`)]);
  const served = await Served.start([...files, ...ONE, '--no-autoload']);
  assert.equal(await served.ask('one'), { status: 200, model: 'one' });
  assert.equal(await served.ask('two'), { status: 400, code: 'model_not_loaded' });
  await served.stop();
});

test('ps, ls, load and unload', async ({ folder }) => {
  const served = await Served.start(['--models-dir', folder, ...ONE, '--no-autoload', '--ttl', '600']);
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli([...args, '--url', served.url]);
    return { code, stdout, stderr };
  };
  assert.equal(await run('load', 'one'), { code: 0, stdout: 'one is loaded.\n', stderr: '' });
  const [loaded] = JSON.parse((await run('ps', '--json')).stdout);
  assert.equal([loaded.id, loaded.status.value], ['one', 'loaded']);
  const server = served.child.process.pid as number;
  const { pid, preparation_pid: preparation, memory } = loaded.status;
  assert.equal([enginesOf(server), preparationsOf(server)], [[pid], [preparation]]);
  // Resident memory of both processes.
  const resident = residentMiB(pid) + residentMiB(preparation);
  assert.ok(Math.abs(memory / 2 ** 20 - resident) < residentMiB(preparation) / 2, `${memory} bytes, ${resident} MiB`);
  assert.ok(memory > 10_000_000 && loaded.status.expires_at > Date.now() / 1000);
  assert.match((await run('ps')).stdout, /^MODEL +STATE +PIDS .*\none +loaded +\d+ \d+ +\d+ MB +0 +0 +in \d+ s\n$/);
  assert.match((await run('ls')).stdout, /^MODEL +STATE +SIZE\none +loaded +[\d.]+ MB\ntwo +unloaded +[\d.]+ MB\n$/);
  assert.is((await run('load', 'two')).stdout, 'two is loaded.\n');
  assert.equal(await served.states(), { one: 'unloaded', two: 'loaded' });
  assert.is((await run('unload', 'two')).stdout, 'two is unloaded.\n');
  assert.equal(await served.states(), { one: 'unloaded', two: 'unloaded' });
  const unknown = await run('load', 'three');
  assert.equal([unknown.code, unknown.stdout], [5, '']);
  assert.match(unknown.stderr, /`three` is not served here; this server has `one`, `two`/);
  await served.stop();
  const gone = await run('ps');
  assert.is(gone.code, 3);
  assert.match(gone.stderr, /^chasqui: no server could be reached at .*--url\n$/);
});

test('a model that a stream holds for ever is unloaded by force, and the stream ends with an error', async ({
  folder,
}) => {
  const served = await Served.start(['--models-dir', folder, ...ONE, '--step-timeout', '0']);
  assert.equal(await served.ask('one'), { status: 200, model: 'one' });
  const [engine] = enginesOf(served.child.process.pid as number);
  process.kill(engine as number, 'SIGSTOP');
  const stream = served.post('/v1/completions', {
    model: 'one',
    prompt: 'Once',
    max_tokens: 500,
    ignore_eos: true,
    stream: true,
  });
  const waiting = startChild('ts/cli.ts', ['unload', 'one', '--url', served.url]);
  await until(() => /1 request uses one, .* --force/.test(waiting.output.stderr), 'what can be done', 60_000);
  assert.equal(await served.states(), { one: 'loaded', two: 'unloaded' });
  assert.is((await runCli(['unload', 'one', '--url', served.url, '--force'])).stdout, 'one is unloaded.\n');
  assert.match(await (await stream).text(), /"code":"request_cancelled"/);
  assert.is((await waiting.exited).code, 0);
  await until(() => !isAlive(engine as number), 'the end of its process', 30_000);
  assert.equal(await served.ask('one'), { status: 200, model: 'one' });
  await served.stop();
});

test.run();
