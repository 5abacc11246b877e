/** Makes modules that crash, hang, compute wrongly, or belong to another version of chasqui. */
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const faults = { crash: 1, 'crash-in-score': 2, hang: 3, wrong: 4 };

export type Fault = keyof typeof faults | 'other-version';

/** Writes `libggml-cpu-<fault>.so` into `folder`, which holds a good module and ggml's own libraries. */
export function writeBadModule(folder: string, fault: Fault): string {
  const file = join(folder, `libggml-cpu-${fault.replaceAll('-', '_')}.so`);
  const ggml = join(root, 'vendor', 'llama.cpp', 'ggml');
  const source = join(root, 'test', 'packages', 'bad-module.cpp');
  const includes = [`-I${join(ggml, 'include')}`, `-I${join(ggml, 'src')}`];
  const defines = [`-DGOOD_MODULE="${join(folder, 'libggml-cpu-x64.so')}"`, `-DFAULT=${faults[fault as 'crash'] ?? 0}`];
  const foreign = fault === 'other-version' ? writeForeignLibrary(folder) : [];
  compile([
    '-std=c++17',
    '-shared',
    '-fPIC',
    ...includes,
    ...defines,
    source,
    '-o',
    file,
    ...ggmlBase(folder),
    ...foreign,
  ]);
  for (const library of foreign.filter((name) => name.startsWith('/'))) rmSync(library);
  return file;
}

function ggmlBase(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => (/^libggml-base-chasqui-/.test(name) ? [join(folder, name)] : []));
}

/** A library that the module needs and that is gone, as another version's libggml-base is. */
function writeForeignLibrary(folder: string): string[] {
  const name = 'libggml-base-chasqui-0.0.1.so';
  const library = join(folder, name);
  const empty = ['-shared', '-fPIC', '-x', 'c++', '/dev/null', `-Wl,-soname,${name}`, '-o', library];
  compile(empty);
  return ['-Wl,--no-as-needed', library];
}

function compile(args: string[]): void {
  const result = spawnSync('c++', args, { encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`c++ ${args.join(' ')}: ${result.stderr}`);
}
