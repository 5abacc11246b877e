// Our kernels compile for every CPU that a package has a module for: a build makes the modules of this machine alone.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from '../support/places.js';

const test = suite('llama: modules');
const folder = path.join(root, 'native', 'kernels');
const kernels = readdirSync(folder).filter((name) => name.endsWith('.cpp'));

interface Compilation {
  directory: string;
  command: string;
  file: string;
}

/** Of our kernels, once for each module that has vectors of 256 bits or more. */
function compilations(): Compilation[] {
  const all: Compilation[] = JSON.parse(readFileSync(path.join(root, 'build', 'compile_commands.json'), 'utf8'));
  return all.filter(({ command, file }) => {
    return command.includes(' -mavx2 ') && path.dirname(file) === folder;
  });
}

/** Compiler diagnostics, or an empty string. */
async function errorsOf({ directory, command }: Compilation): Promise<string> {
  const compiler = spawn(`${command} -fsyntax-only -w`, {
    cwd: directory,
    shell: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [said, [code]] = await Promise.all([text(compiler.stderr), once(compiler, 'exit')]);
  return code === 0 ? '' : `${command}\n${said}`;
}

if (process.arch === 'x64' && process.platform === 'linux') {
  test('kernels compile for every CPU that has a module', async () => {
    const left = compilations();
    assert.ok(left.length >= 5 * kernels.length, `${left.length} compilations`);
    const errors: string[] = [];
    const compileAll = async () => {
      for (let next = left.pop(); next; next = left.pop()) errors.push(await errorsOf(next));
    };
    await Promise.all(Array.from({ length: availableParallelism() }, compileAll));
    assert.is(errors.filter(Boolean).join('\n'), '');
  });
}

test.run();
