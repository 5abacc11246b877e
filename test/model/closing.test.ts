import { spawnSync } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadModel } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';

// The compiled package: it is what people run, and worker threads know nothing of tsx.
const indexUrl = pathToFileURL(fileURLToPath(new URL('../../dist/index.js', import.meta.url))).href;
const loadAddonUrl = new URL('native/load-addon.js', indexUrl).href;
const repository = fileURLToPath(new URL('../../', import.meta.url));
const endless = `{ prompt: 'The', ignoreEos: true }`;

/** Runs `body` as the whole program of a child process. */
function runChild(body: string) {
  const program = `
    import { Worker } from 'node:worker_threads';
    import { loadModel } from ${JSON.stringify(indexUrl)};
    const path = ${JSON.stringify(demoModelPath)};
    const open = () => loadModel(path, { threads: 1, contextSize: 1024, parallel: 2 });
    ${body}`;
  const result = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: repository,
    encoding: 'utf8',
    timeout: 120_000,
  });
  return { code: result.status, signal: result.signal, stdout: result.stdout, stderr: result.stderr };
}

const ends: [name: string, code: number, body: string][] = [
  ['an idle model does not keep the process alive', 0, 'await open();'],
  [
    'a finished job does not keep the process alive',
    0,
    "for await (const t of (await open()).generate({ prompt: 'a', maxTokens: 2 })) ;",
  ],
  [
    'a running job does',
    0,
    `let n = 0; for await (const t of (await open()).generate({ prompt: 'a', maxTokens: 40, temperature: 2 })) n++; console.log('read', n > 0);`,
  ],
  [
    'process.exit() while decoding',
    3,
    `const m = await open(); const s = m.generate(${endless}); await s.next(); process.exit(3);`,
  ],
  [
    'process.exit() while embedding',
    9,
    `const m = await open(); m.embed(Array(2000).fill('word '.repeat(40))); await m.embed(['a']); process.exit(9);`,
  ],
  [
    'closing while embedding, and the process ends by itself',
    0,
    `const m = await open(); m.embed(Array(2000).fill('word '.repeat(40))).catch(() => {}); await m.embed(['a']); m.close();`,
  ],
  ['process.exit() while loading', 4, `open(); setTimeout(() => process.exit(4), 1);`],
  [
    'process.exit() while closing',
    5,
    `const m = await open(); const s = m.generate(${endless}); await s.next(); m.close(); process.exit(5);`,
  ],
  [
    'process.exit() while tokenizing',
    6,
    `const m = await open(); m.tokenize('word '.repeat(300000)); m.render([{ role: 'user', content: 'a' }]); process.exit(6);`,
  ],
  [
    'an uncaught exception while decoding',
    1,
    `const m = await open(); const s = m.generate(${endless}); await s.next(); setTimeout(() => { throw new Error('oops'); });  await new Promise(() => {});`,
  ],
  [
    'close while decoding',
    0,
    `const m = await open(); const s = m.generate(${endless}); await s.next(); await m.close(); console.log('closed');`,
  ],
  [
    'a worker that ends by itself',
    0,
    workerThat(`const m = await open(); for await (const t of m.generate({ prompt: 'a', maxTokens: 2 })) ;`),
  ],
  [
    'a worker that is terminated while decoding',
    0,
    `${workerThat(`const m = await open(); const s = m.generate(${endless}); await s.next(); parentPort.postMessage('on');`)} worker.on('message', () => worker.terminate());`,
  ],
  [
    'a worker whose engine cannot be ended leaves the process to the main thread',
    8,
    `${workerThat(`const m = await open(); const { loadAddon } = await import(${JSON.stringify(loadAddonUrl)}); const { addon } = loadAddon(); const { shutdown } = addon; addon.shutdown = () => shutdown() && false; process.exit(7);`)} worker.on('exit', () => process.exit(8));`,
  ],
  [
    'garbage collection of a model that decodes',
    0,
    `{ const m = await open(); const s = m.generate(${endless}); await s.next(); await s.return(); } globalThis.gc?.(); console.log('collected');`,
  ],
];

function workerThat(body: string): string {
  const program = `
    const { parentPort } = await import('node:worker_threads');
    const { loadModel } = await import(${JSON.stringify(indexUrl)});
    const open = () => loadModel(${JSON.stringify(demoModelPath)}, { threads: 1, contextSize: 1024, parallel: 2 });
    ${body}`;
  return `const worker = new Worker(${JSON.stringify(program)}, { eval: true }); worker.on('error', (e) => { throw e; });`;
}

for (const [name, code, body] of ends) {
  test(`the process ends cleanly: ${name}`, () => {
    const end = runChild(body);
    assert.is(end.signal, null, end.stderr);
    assert.is(end.code, code, end.stderr);
  });
}

test('close() rejects what runs with engine_closed, and may be called again', async () => {
  const model = await loadModel(demoModelPath, { threads: 1, parallel: 1 });
  // Neither sequence ends, because unread sequences are paused. While the first one is paused, the second one takes its
  // slot.
  const running = model.generate({ prompt: 'The', ignoreEos: true });
  const queued = model.generate({ prompt: 'The', ignoreEos: true });
  await running.next();
  await Promise.all([model.close(), model.close()]);
  for (const stream of [running, queued]) {
    let error: unknown;
    try {
      for await (const _ of stream);
    } catch (caught) {
      error = caught;
    }
    assert.is((error as { code?: string })?.code, 'engine_closed');
  }
  await model.close();
});

test('after close() every call is refused with engine_closed', async () => {
  const model = await loadModel(demoModelPath, { threads: 1 });
  await model.close();
  const calls = [
    () => model.generate({ prompt: 'a' }).next(),
    () => model.tokenize('a'),
    () => model.render([{ role: 'user', content: 'a' }]),
    () => model.stats(),
  ];
  for (const call of calls) {
    await call().then(
      () => assert.unreachable(),
      (error) => assert.is(error.code, 'engine_closed'),
    );
  }
});

test.run();
