// However a process ends while the engine runs, it ends by itself: no signal, no message of a crash.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { install, run, startChasqui } from './installation.js';

const test = suite('packages: exit');

const begin = `
const { loadModel } = require('chasqui');
async function generating() {
  const model = await loadModel('node_modules/chasqui/prebuilds/demo/chasqui-demo.gguf');
  const tokens = model.generate({ prompt: 'Once', ignoreEos: true });
  await tokens.next();
  return { model, tokens };
}
`;

const endings = {
  'by itself, the model closed': ['generating().then(({ model }) => model.close());', 0],
  'by process.exit() while it generates': ['generating().then(() => process.exit(7));', 7],
  'by an uncaught exception while it generates': [
    `generating().then(() => setImmediate(() => { throw new Error('planted'); }));`,
    1,
  ],
  'by the termination of a worker that generates': [
    `const { Worker, isMainThread, parentPort } = require('node:worker_threads');
     if (isMainThread) {
       const worker = new Worker(__filename);
       worker.on('message', () => worker.terminate().then(() => console.log('terminated')));
     } else generating().then(() => parentPort.postMessage('running'));`,
    0,
  ],
} as const;

for (const [how, [program, code]] of Object.entries(endings)) {
  test(`a process ends ${how}`, () => {
    writeFileSync(join(install(), 'ending.cjs'), begin + program);
    const { status, signal, stderr } = run(install(), 'ending.cjs');
    assert.equal({ status, signal }, { status: code, signal: null }, stderr);
    assert.not.match(stderr, /GGML_ASSERT|terminate called|Segmentation/);
  });
}

test('a server that generates ends by SIGTERM with 0', async () => {
  const server = startChasqui(install(), 'serve', '--port', '0');
  const [first] = await once(server.stdout as NodeJS.ReadableStream, 'data');
  const [, url] = /at (http:\S+)\/v1/.exec(String(first)) ?? [];
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'chasqui-demo',
      messages: [{ role: 'user', content: 'Hello!' }],
      ignore_eos: true,
      max_tokens: 500,
      stream: true,
    }),
  });
  const stream = reply.body?.getReader();
  await stream?.read();
  server.kill('SIGTERM');
  const drained = (async () => {
    while (!(await stream?.read())?.done);
  })().catch(() => undefined);
  assert.equal(await once(server, 'exit'), [0, null]);
  await drained;
});

test.run();
