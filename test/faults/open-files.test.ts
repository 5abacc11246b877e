// A server at its limit of open files: requests that need a descriptor are refused with the reason, all others work,
// and everything works again when descriptors are available.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, startChild, untilWritten } from '../support/child.js';
import { demoModelPath } from '../support/demo-model.js';
import { SHORT_DELAYS, untilEngineOf, untilPreparationOf } from '../support/engine-process.js';
import { type Answer, OneConnection } from '../support/one-connection.js';
import { leaveAllFiles, leaveFiles } from '../support/open-files.js';
import { until } from '../support/until.js';

/** After delays. */
const FAILED_STARTS = 3;

class Served {
  readonly #connection: OneConnection;

  constructor(
    readonly child: Child,
    url: string,
    private readonly models: string,
  ) {
    this.#connection = new OneConnection(url);
  }

  get pid(): number {
    return this.child.process.pid as number;
  }

  /** A model that failed is loaded again 30 s later, or as soon as its file has changed. */
  touch(model: string): void {
    const now = new Date();
    utimesSync(path.join(this.models, `${model}.gguf`), now, now);
  }

  get failedStarts(): number {
    return this.child.output.stderr.split('could not be started again').length - 1;
  }

  ask(method: string, url: string, body?: object): Promise<Answer> {
    return this.#connection.ask(method, url, body);
  }

  chat(model: string, content = 'Is 3 even?'): Promise<Answer> {
    return this.ask('POST', '/v1/chat/completions', { model, messages: [{ role: 'user', content }], max_tokens: 2 });
  }
}

const test = suite('faults: no files left');

async function withServer(use: (served: Served) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-files-'));
  const models = path.join(folder, 'models');
  mkdirSync(models);
  for (const name of ['one', 'two']) copyFileSync(demoModelPath, path.join(models, `${name}.gguf`));
  const data = path.join(folder, 'data');
  const args = ['--port', '0', '--ctx-size', '512', '--threads', '1', '--models-dir', models, '--data-dir', data];
  const child = startChild('ts/cli.ts', ['serve', ...args], SHORT_DELAYS);
  try {
    const [, url = ''] = await untilWritten(child, /^Serving .* at (http:\S+)\/v1$/m);
    await use(new Served(child, url, models));
  } finally {
    child.process.kill('SIGKILL');
    await child.exited;
    rmSync(folder, { recursive: true });
  }
}

test('a model is not loaded, with the reason; the one that is loaded answers, and its responses are stored', () =>
  withServer(async (served) => {
    assert.is((await served.chat('one')).status, 200);
    for (const spare of [0, 1, 2, 4, 6]) {
      served.touch('two');
      leaveFiles(served.pid, spare);
      const refused = await served.chat('two', `Is ${spare} even?`);
      assert.is(refused.status, 503, JSON.stringify(refused.body));
      assert.match(refused.body.error.message, /limit of open files and connections/, JSON.stringify(refused.body));
      assert.is((await served.chat('one', `Is ${spare} odd?`)).status, 200);
      const { body } = await served.ask('POST', '/v1/responses', { model: 'one', input: 'Hi', max_output_tokens: 16 });
      assert.is((await served.ask('GET', `/v1/responses/${body.id}`)).status, 200);
      assert.is((await served.ask('GET', '/health')).status, 200);
      leaveAllFiles(served.pid);
    }
    served.touch('two');
    assert.is((await served.chat('two')).status, 200);
    assert.is(served.child.process.exitCode, null);
  }));

async function endsWithoutFiles(served: Served, untilProcess: typeof untilEngineOf): Promise<void> {
  assert.is((await served.chat('one')).status, 200);
  const pid = await untilProcess(served.pid);
  leaveFiles(served.pid, 0);
  process.kill(pid, 'SIGSEGV');
  for (let starts = 1; starts <= FAILED_STARTS; starts += 1) {
    await until(() => served.failedStarts >= starts, `start ${starts} to fail`, 60_000).catch((error: Error) => {
      throw new Error(`${error.message}\n${served.child.output.stderr}`);
    });
    const { status, body } = await served.ask('POST', '/v1/completions', { model: 'one', prompt: 'Hi', max_tokens: 2 });
    assert.is(status, 503, JSON.stringify(body));
    assert.match(body.error.message, /limit of open files and connections/);
  }
  leaveAllFiles(served.pid);
  await until(async () => (await served.chat('one')).status === 200, 'an answer', 120_000);
}

test('the engine or the preparation process that ends is started again when there are files again, however late', async () => {
  // Both wait for most of the time.
  const both = [untilEngineOf, untilPreparationOf].map((untilProcess) =>
    withServer((served) => endsWithoutFiles(served, untilProcess)),
  );
  for (const outcome of await Promise.allSettled(both)) if (outcome.status === 'rejected') throw outcome.reason;
});

test.run();
