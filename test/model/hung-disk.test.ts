// Conversations on an unresponsive disk, such as a network disk: a stopping process must exit. Linux only, because the
// disk is simulated with LD_PRELOAD.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startChild, untilWritten } from '../support/child.js';
import { demoModelPath } from '../support/demo-model.js';

const test = suite<{ folder: string; sign: string; variables: NodeJS.ProcessEnv }>('model: a disk that hangs');

const root = fileURLToPath(new URL('../../', import.meta.url));
const indexUrl = pathToFileURL(path.join(root, 'dist', 'index.js')).href;
const LONG = 'Once there was a very long story that nobody wanted to hear twice. '.repeat(40);
const TIMEOUT_MS = 60_000;

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-hung-'));
const library = path.join(home, 'hung-disk.so');
process.once('exit', () => fs.rmSync(home, { recursive: true, force: true }));

test.before(() => {
  const source = path.join(root, 'test', 'support', 'hung-disk.cpp');
  const { status, stderr } = spawnSync('c++', ['-shared', '-fPIC', '-O1', '-o', library, source], { encoding: 'utf8' });
  assert.is(status, 0, stderr);
});
test.before.each((context) => {
  context.folder = fs.mkdtempSync(path.join(home, 'cache-'));
  context.sign = path.join(context.folder, 'hung');
  context.variables = { LD_PRELOAD: library, CHASQUI_HUNG_DISK: context.sign };
});

/** Runs a program to its end, with `open()` for a model that keeps conversations, and `hang()` for the disk. */
function run(
  { folder, sign, variables }: { folder: string; sign: string; variables: NodeJS.ProcessEnv },
  body: string,
) {
  const program = `
    import fs from 'node:fs';
    import { loadModel } from ${JSON.stringify(indexUrl)};
    const options = { threads: 1, contextSize: 2048, parallel: 2, cacheDiskMiB: 64, cacheFolder: ${JSON.stringify(folder)} };
    const open = () => loadModel(${JSON.stringify(demoModelPath)}, options);
    const hang = () => fs.writeFileSync(${JSON.stringify(sign)}, '');
    const job = { prompt: ${JSON.stringify(LONG)}, maxTokens: 3, temperature: 0 };
    const complete = async (model) => { let n = 0; for await (const _ of model.generate(job)) n++; return n > 0; };
    ${body}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: root,
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
    env: { ...process.env, ...variables },
  });
  return { status, stdout: stdout.trim(), stderr };
}

const KEEP = 'const first = await open(); await complete(first); await first.close();';

const ENDS: [name: string, code: number, says: string, body: string][] = [
  [
    'close() while it is written to',
    0,
    'closed',
    "const model = await open(); await complete(model); hang(); await model.close(); console.log('closed');",
  ],
  ['process.exit() while it is written to', 7, '', 'await complete(await open()); hang(); process.exit(7);'],
  [
    'close() while it is read from',
    0,
    'engine_closed',
    `${KEEP} const model = await open(); hang();
     const completion = complete(model).catch(({ code }) => console.log(code));
     await new Promise((resolve) => setTimeout(resolve, 200));
     await model.close(); await completion;`,
  ],
  [
    'process.exit() while it is read from',
    7,
    '',
    `${KEEP} const model = await open(); hang(); complete(model).catch(() => {});
     await new Promise((resolve) => setTimeout(resolve, 200)); process.exit(7);`,
  ],
  [
    'a model is loaded, completes and is closed without it',
    0,
    'true',
    `${KEEP} hang(); const model = await open(); console.log(await complete(model)); await model.close();`,
  ],
];

if (process.platform === 'linux') {
  for (const [name, code, says, body] of ENDS) {
    test(name, (context) => {
      const { status, stdout, stderr } = run(context, body);
      assert.equal({ status, stdout }, { status: code, stdout: says }, stderr);
    });
  }

  for (const engine of ['child', 'in-process']) {
    test(`a server is stopped, its engine ${engine}`, async ({ folder, sign, variables }) => {
      const args = ['--port', '0', '--threads', '1', '--ctx-size', '2048', '--cache-disk', '64', '--data-dir', folder];
      const server = startChild('ts/cli.ts', ['serve', ...args, '--engine', engine], variables);
      const timer = setTimeout(() => server.process.kill('SIGKILL'), TIMEOUT_MS);
      const [, url = ''] = await untilWritten(server, /^Serving .* at (http:\S+)\/v1$/m);
      const reply = await fetch(`${url}/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ model: 'chasqui-demo', prompt: LONG, max_tokens: 3 }),
      });
      assert.is(reply.status, 200, await reply.text());
      fs.writeFileSync(sign, '');
      server.process.kill('SIGTERM');
      assert.equal(await server.exited, { code: 0, signal: null }, server.output.stderr);
      clearTimeout(timer);
    });
  }

  test.run();
}
