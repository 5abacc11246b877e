/** Checks of the package of every platform: the library, the command line and the server. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from './places.js';

const MODEL = 'node_modules/chasqui/prebuilds/demo/chasqui-demo.gguf';
const CLI = 'node_modules/chasqui/dist/cli.js';

export interface NodeRun {
  status: number | null;
  /** Standard output and standard error. */
  output: string;
}

/** Runs Node.js of the platform, in the folder where chasqui is installed. */
type RunNode = (args: readonly string[]) => NodeRun;

const generate = (library: string, model: string, inProcess: boolean) => `
  import { loadModel } from ${JSON.stringify(library)};
  const model = await loadModel(${JSON.stringify(model)}, { parallel: 1, process: ${!inProcess} });
  const messages = [{ role: 'user', content: 'Hello!' }];
  console.log(await model.generate({ messages, temperature: 0, maxTokens: 40 }).text());
  await model.close();`;

/** `ending`: the exit code and the signal of a server that is ended with SIGTERM. */
export function checkPackage(test: Test, folder: () => string, runNode: RunNode, ending: string): void {
  /** Runs the text of a module, and returns its output. */
  function runProgram(text: string): string {
    writeFileSync(path.join(folder(), 'program.mjs'), text);
    const { status, output } = runNode(['program.mjs']);
    assert.is(status, 0, output);
    return output;
  }

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
    const version = runNode([CLI, '--version']);
    assert.is(version.status, 0, version.output);
    assert.match(version.output, /^\d+\.\d+\.\d+ \(llama\.cpp v\d/);
    const list = runNode([CLI, 'ls']);
    assert.is(list.status, 0, list.output);
    assert.match(list.output, /models/i);
    const sizes = ['--streams=1', '--n-depth=0', '--n-prompt=16', '--n-gen=4', '--repetitions=1'];
    const bench = runNode([CLI, 'bench', '--json', ...sizes]);
    assert.is(bench.status, 0, bench.output);
    assert.is(JSON.parse(bench.output).length, 2, bench.output);
  });

  test('the server answers and is ended', () => {
    const output = runProgram(`
      import { spawn } from 'node:child_process';
      import { once } from 'node:events';
      import { createInterface } from 'node:readline';
      const args = ['${CLI}', 'serve', '--port', '0'];
      const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
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
    assert.match(output, /^200 Hello! I am .*\n/);
    assert.is(output.split('\n').at(-2), ending);
  });
}
