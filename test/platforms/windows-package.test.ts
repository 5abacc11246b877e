// The package for Windows on x64: cross-compiled, packed, installed, and run by Node.js for Windows in Wine.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { installFor } from '../support/cross-package.js';
import { root } from '../support/places.js';
import { NODE_FOR_WINDOWS, prepareWine, runNodeInWine } from '../support/win32-x64.js';

const test = suite('platforms: win32-x64');

const MODEL = 'node_modules/chasqui/prebuilds/demo/chasqui-demo.gguf';
const CLI = 'node_modules/chasqui/dist/cli.js';
let folder = '';

const runChasqui = (...args: string[]) => runNodeInWine(folder, [CLI, ...args]);

/** Runs the text of a module, and returns its output. */
function runProgram(text: string): string {
  writeFileSync(path.join(folder, 'program.mjs'), text);
  const { status, output } = runNodeInWine(folder, ['program.mjs']);
  assert.is(status, 0, output);
  return output;
}

test.before(() => {
  prepareWine();
  folder = installFor('win32-x64', NODE_FOR_WINDOWS);
});

const generate = (library: string, model: string, inProcess: boolean) => `
  import { loadModel } from ${JSON.stringify(library)};
  const model = await loadModel(${JSON.stringify(model)}, { parallel: 1, process: ${!inProcess} });
  const messages = [{ role: 'user', content: 'Hello!' }];
  console.log(await model.generate({ messages, temperature: 0, maxTokens: 40 }).text());
  await model.close();`;

for (const inProcess of [true, false]) {
  test(`the library generates the text of Linux ${inProcess ? 'in this process' : 'in a child process'}`, () => {
    const dist = path.join(root, 'dist', 'index.js');
    const model = path.join(root, 'prebuilds', 'demo', 'chasqui-demo.gguf');
    const args = ['--input-type=module', '--eval', generate(dist, model, inProcess)];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.match(stdout, 'How can I help you', stderr);
    assert.is(runProgram(generate('chasqui', MODEL, inProcess)), stdout);
  });
}

test('the command line prints versions, lists models and measures the demo model', () => {
  const version = runChasqui('--version');
  assert.is(version.status, 0, version.output);
  assert.match(version.output, /^\d+\.\d+\.\d+ \(llama\.cpp v\d/);
  const list = runChasqui('ls');
  assert.is(list.status, 0, list.output);
  assert.match(list.output, /models/i);
  const bench = runChasqui(
    'bench',
    '--json',
    '--streams=1',
    '--n-depth=0',
    '--n-prompt=16',
    '--n-gen=4',
    '--repetitions=1',
  );
  assert.is(bench.status, 0, bench.output);
  assert.is(JSON.parse(bench.output).length, 2, bench.output);
});

test('the server answers and is ended', () => {
  const output = runProgram(`
    import { spawn } from 'node:child_process';
    import { once } from 'node:events';
    import { createInterface } from 'node:readline';
    const server = spawn(process.execPath, ['${CLI}', 'serve', '--port', '0'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const exited = once(server, 'exit');
    for await (const line of createInterface({ input: server.stdout })) {
      const [, url] = /^Serving .* at (http:\\S+)\\/v1$/.exec(line) ?? [];
      if (!url) continue;
      const messages = [{ role: 'user', content: 'Hello!' }];
      const body = JSON.stringify({ model: 'chasqui-demo', messages, temperature: 0, max_tokens: 20 });
      const headers = { 'content-type': 'application/json' };
      const reply = await fetch(url + '/v1/chat/completions', { method: 'POST', headers, body });
      console.log(reply.status, (await reply.json()).choices[0].message.content);
      server.kill();
    }
    console.log(JSON.stringify(await exited));`);
  assert.match(output, /^200 Hello! I am .*\n\[null,"SIGTERM"\]\n$/);
});

test.run();
