// The library in other runtimes than Node.js. CHASQUI_CI=full downloads them, 130 MB.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { install, installInto, withoutCompilers } from './installation.js';

const test = suite('packages: runtimes');

const BUN = { name: '@oven/bun-linux-x64', version: '1.4.5', run: ['bin/bun', 'run'] };
const DENO = { name: '@deno/linux-x64-glibc', version: '2.9.6', run: ['deno', 'run', '--allow-all'] };

const PROGRAM = `
import { loadModel } from 'chasqui';
const process = globalThis.process.argv.includes('process');
try {
  const model = await loadModel('node_modules/chasqui/prebuilds/demo/chasqui-demo.gguf', { parallel: 1, process });
  let text = '';
  const messages = [{ role: 'user', content: 'Hello!' }];
  for await (const token of model.generate({ messages, temperature: 0, maxTokens: 20 })) text += token.text;
  await model.close();
  console.log(text);
} catch (error) {
  console.log(error.code, error.message);
}
`;

/** Runs the program in an installation to its end, and returns its output. */
function outputOf(folder: string, [command = '', ...args]: string[], ...options: string[]): string {
  const result = spawnSync(command, [...args, 'program.mjs', ...options], {
    cwd: folder,
    encoding: 'utf8',
    env: withoutCompilers(),
    timeout: 120_000,
  });
  assert.is(result.status, 0, `${result.error ?? ''}${result.signal ?? ''}${result.stderr}`);
  return result.stdout.trim();
}

let folder = '';

function commandOf({ name, version, run: [file = '', ...args] }: typeof BUN): string[] {
  const command = ['npm', 'install', '--prefer-offline', '--ignore-scripts', `${name}@${version}`];
  const own = installInto(name.replaceAll('/', '-'), command);
  return [join(own, 'node_modules', name, file), ...args];
}

if (process.env.CHASQUI_CI === 'full' && process.platform === 'linux' && process.arch === 'x64') {
  test.before(() => {
    folder = install();
    writeFileSync(join(folder, 'program.mjs'), PROGRAM);
  });

  test('Deno runs a model, in its process and in a child process', () => {
    const expected = outputOf(folder, [process.execPath]);
    const deno = commandOf(DENO);
    assert.is(outputOf(folder, deno), expected);
    assert.is(outputOf(folder, deno, 'process'), expected);
  });

  test('Bun runs a model in its process, and refuses a child process', () => {
    const bun = commandOf(BUN);
    assert.is(outputOf(folder, bun), outputOf(folder, [process.execPath]));
    assert.match(
      outputOf(folder, bun, 'process'),
      /^model_load_failed No process could be started: Bun connects no pipes/,
    );
  });
}

test.run();
