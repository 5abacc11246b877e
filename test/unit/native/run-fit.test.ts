// However the process fares that works out how many layers fit, there is an answer.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { FitTask } from '../../../ts/native/fit-child.js';
import { runFit } from '../../../ts/native/run-fit.js';

const test = suite('run-fit');
let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'chasqui-test-fit-'));
});
test.after(() => rmSync(folder, { recursive: true }));

const task = { request: { path: 'model.gguf' }, spareBytes: 7 } as FitTask;

/** In the addon's place, which the child loads as any other module. */
function addon(body: string): string {
  const file = join(folder, `${body.replace(/\W+/g, '-').slice(0, 40)}.cjs`);
  writeFileSync(file, `exports.ownProcess = () => {}; exports.fit = (request, spareBytes) => { ${body} };`);
  return file;
}

test('the result of the addon is returned', async () => {
  const echo = addon('return { gpuLayers: spareBytes, devices: [request.path] };');
  assert.equal(await runFit(echo, task), { offload: { gpuLayers: 7, devices: ['model.gguf'] } });
});

const REASONS: [what: string, body: string, reason: RegExp, ended?: 'crashed' | 'hung'][] = [
  ['an error', "throw new Error('no driver');", /^no driver$/],
  ['a crash', 'process.abort();', process.platform === 'win32' ? /exit code 134/ : /ended by SIGABRT/, 'crashed'],
  ['an end', 'process.exit(3);', /exit code 3/, 'crashed'],
  ['a hang', 'for (;;);', /^it gave no sign of life for 0\.2 s$/, 'hung'],
];
for (const [what, body, reason, ended] of REASONS) {
  test(`${what} is a reason`, async () => {
    const limits = ended === 'hung' ? { limitMs: 200 } : {};
    const answer = (await runFit(addon(body), task, limits)) as { reason: string; ended?: string };
    assert.match(answer.reason, reason);
    assert.is(answer.ended, ended);
  });
}

test('no addon is a reason', async () => {
  assert.match((await runFit(join(folder, 'nowhere.node'), task)).reason ?? '', /exit code 1/);
});

test('aborted, it ends', async () => {
  const signal = AbortSignal.timeout(500);
  const { reason } = await runFit(addon('for (;;);'), task, { signal });
  assert.match(reason ?? '', /SIGKILL/);
});

test.run();
