import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError, type LoadOptions, loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { writeDecoder } from '../support/random-model.js';
import { until } from '../support/until.js';

const indexUrl = new URL('../../dist/index.js', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'chasqui-preparing-'));
const open = new Set<Model>();
test.after.each(async () => {
  for (const model of open) await model.close();
  open.clear();
});
test.after(() => rmSync(folder, { recursive: true }));

/** Renders what it is told for hours, when it is told `slowly`. */
const chatTemplate =
  "{% if messages[0].content == 'slowly' %}" +
  '{% for a in range(10000) %}{% for b in range(10000) %}{% set c = a %}{% endfor %}{% endfor %}' +
  '{% endif %}{{ messages[0].content }}';

async function load(options: LoadOptions = {}): Promise<Model> {
  const model = await loadModel(demoModelPath, { threads: 1, contextSize: 256, chatTemplate, ...options });
  open.add(model);
  return model;
}

const user = (content: string) => [{ role: 'user' as const, content }];

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => assert.unreachable('it went well'),
    (thrown) => thrown,
  );
}

test('prepareTimeoutMs ends a slow preparation, and other requests wait no longer', async () => {
  const model = await load({ prepareTimeoutMs: 300 });
  const slow = Array.from({ length: 8 }, () => failure(model.render(user('slowly'))));
  // On a busy machine, this may take longer than the limit too.
  const renders = async () => (await model.render(user('Hello')).catch(() => undefined))?.prompt === 'Hello';
  await until(renders, 'the request behind them is rendered');
  for (const each of slow) {
    const error = await each;
    assert.instance(error, ChasquiError);
    assert.is((error as ChasquiError).code, 'prepare_timeout');
    assert.match((error as ChasquiError).message, /Rendering the conversation .* took longer than 0\.3 s/);
  }
});

test('a timeout that is none is refused', async () => {
  for (const prepareTimeoutMs of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.is(((await failure(load({ prepareTimeoutMs }))) as ChasquiError).code, 'invalid_options');
  }
});

test('aborted preparation ends, and makes room for what is behind it', async () => {
  const model = await load({ prepareTimeoutMs: 600_000 });
  const gone = new AbortController();
  const slow = Array.from({ length: 8 }, () => failure(model.render(user('slowly'), {}, { signal: gone.signal })));
  const behind = model.render(user('Hello'));
  setTimeout(() => gone.abort(new Error('gone')), 50);
  for (const each of slow) assert.is(((await each) as Error).message, 'gone');
  assert.is((await behind).prompt, 'Hello');
});

test('closing does not wait for preparation to be done', async () => {
  const model = await load({ prepareTimeoutMs: 600_000 });
  const slow = failure(model.render(user('slowly')));
  await model.close();
  assert.is(((await slow) as ChasquiError).code, 'engine_closed');
});

test('a process can exit while something is being prepared', () => {
  const program = `
    import { loadModel } from ${JSON.stringify(indexUrl)};
    const options = ${JSON.stringify({ threads: 1, contextSize: 256, chatTemplate, prepareTimeoutMs: 600_000 })};
    const model = await loadModel(${JSON.stringify(demoModelPath)}, options);
    for (let i = 0; i < 8; i++) model.render([{ role: 'user', content: 'slowly' }]).catch(() => {});
    setTimeout(() => process.exit(7), 100);`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.is(status, 7, stderr);
});

// vendor/patches/0010: room for the logits of 500 tokens and a vocabulary of 49,152, twice, is 200 MB.
test('embedding needs no memory for logits', () => {
  const model = writeDecoder(join(folder, 'decoder.gguf'));
  const program = `
    import { loadModel } from ${JSON.stringify(indexUrl)};
    const model = await loadModel(${JSON.stringify(model)}, { threads: 1, parallel: 1 });
    const before = process.memoryUsage().rss;
    await model.embed([Array(500).fill(40)]);
    process.stdout.write(String((process.memoryUsage().rss - before) / 2 ** 20));
    await model.close();`;
  const grown = Number(execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }));
  assert.ok(grown < 64, `${grown} MiB more`);
});

test.run();
