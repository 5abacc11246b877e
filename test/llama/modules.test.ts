// Our kernels compile for every CPU that a package has a module for: a build makes the modules of this machine alone.
import { execSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from '../support/places.js';

const test = suite('llama: modules');
const folder = path.join(root, 'native', 'kernels');
const kernels = readdirSync(folder).filter((name) => name.endsWith('.cpp'));
const changedMs = Math.max(...readdirSync(folder).map((name) => statSync(path.join(folder, name)).mtimeMs));

interface Compilation {
  directory: string;
  command: string;
  file: string;
}

/** Of our kernels, for each module that has vectors of 256 bits or more; those with fewer instruction sets come first. */
function compilations(): Compilation[] {
  const all: Compilation[] = JSON.parse(readFileSync(path.join(root, 'build', 'compile_commands.json'), 'utf8'));
  const ofKernels = all.filter(({ command, file }) => command.includes(' -mavx2 ') && path.dirname(file) === folder);
  return ofKernels.sort((a, b) => a.command.length - b.command.length);
}

/** Whether the build has compiled the current source. */
function isBuilt({ directory, command }: Compilation): boolean {
  const [, object = ''] = / -o (\S+) -c /.exec(command) ?? [];
  const { mtimeMs } = statSync(path.join(directory, object), { throwIfNoEntry: false }) ?? { mtimeMs: 0 };
  return mtimeMs > changedMs;
}

/** A kernel and the headers of our own that it includes. */
function sourceOf(name: string, seen = new Set<string>()): string {
  if (seen.has(name) || !existsSync(path.join(folder, name))) return '';
  seen.add(name);
  const source = readFileSync(path.join(folder, name), 'utf8');
  const included = [...source.matchAll(/^\s*#\s*include "(.+)"/gm)];
  return source + included.map(([, header = '']) => sourceOf(header, seen)).join('');
}

/** The names of macros that the compiler defines for a module. */
const macrosOf = new Map<string, string[]>();

/**
 * Omits compilations that see the same source as one with fewer instruction sets: the macros that the source names are the
 * same in both.
 */
function withoutRepetitions(all: readonly Compilation[]): Compilation[] {
  const seen = new Set<string>();
  return all.filter(({ directory, command, file }) => {
    const flags = command.replace(/ -o \S+ -c \S+$/, '');
    const macros = macrosOf.get(flags) ?? definedMacros(directory, flags);
    macrosOf.set(flags, macros);
    const named = new Set(sourceOf(path.basename(file)).match(/\w+/g));
    const key = `${file} ${macros.filter((name) => named.has(name)).join(' ')}`;
    return !seen.has(key) && seen.add(key);
  });
}

function definedMacros(directory: string, flags: string): string[] {
  const output = execSync(`${flags} -dM -E -x c++ /dev/null`, { cwd: directory, encoding: 'utf8' });
  return [...output.matchAll(/^#define (\w+)/gm)].map(([, name = '']) => name).sort();
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
    const all = compilations();
    assert.ok(all.length >= 5 * kernels.length, `${all.length} compilations`);
    const different = withoutRepetitions([...all.filter(isBuilt), ...all]);
    assert.ok(different.length > 2 * kernels.length, `${different.length} different compilations`);
    const left = different.filter((each) => !isBuilt(each));
    const errors: string[] = [];
    const compileAll = async () => {
      for (let next = left.pop(); next; next = left.pop()) errors.push(await errorsOf(next));
    };
    await Promise.all(Array.from({ length: availableParallelism() }, compileAll));
    assert.is(errors.filter(Boolean).join('\n'), '');
  });
}

test.run();
