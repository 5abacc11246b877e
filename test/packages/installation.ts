/** chasqui as its users have it: packed, and installed into a folder of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const built = join(root, 'build', 'test-packages');

/** Everything that these tests write, removed when the process ends. */
export const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'chasqui packages ')));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));

let packed: string[] | undefined;
let installed: string | undefined;

/** The tarballs: chasqui, and the package of this platform with the CPU modules that this machine can use. */
export function pack(): string[] {
  if (packed) return packed;
  const out = join(built, 'packages');
  runNode('native/tooling/prebuild.mjs', '--backend', 'cpu', '--local-variants', '--out', built);
  runNode('native/tooling/pack.mjs', '--prebuilds', join(built, 'prebuilds'), '--out', out);
  packed = readdirSync(out).map((name) => join(out, name));
  return packed;
}

function runNode(...args: string[]): void {
  const result = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`${args.join(' ')}: ${result.stdout}${result.stderr}`);
}

/** A folder with spaces in its name and the installed tarballs. Created once. */
export function install(): string {
  installed ??= installInto('an installation', ['npm', 'install', '--prefer-offline', ...pack()]);
  return installed;
}

export function installInto(name: string, [command = '', ...args]: string[]): string {
  const folder = join(scratch, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const result = spawnSync(command, args, { cwd: folder, encoding: 'utf8', env: withoutCompilers() });
  if (result.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${result.stdout}${result.stderr}`);
  return folder;
}

/** A copy of the installation, to do harm to. */
export function copyInstallation(name: string): string {
  const folder = join(scratch, name);
  cpSync(install(), folder, { recursive: true, verbatimSymlinks: true });
  return folder;
}

/** Folder of the platform package. */
export function nativeFolder(folder: string): string {
  const target = `${process.platform}-${process.arch}`;
  return join(folder, 'node_modules', '@chasqui', target, 'prebuilds', target);
}

/** A path with Node and a shell, and nothing that could build anything. */
export function withoutCompilers(): NodeJS.ProcessEnv {
  const bin = join(scratch, 'bin');
  const home = join(scratch, 'home');
  mkdirSync(home, { recursive: true });
  if (!readdirSync(scratch).includes('bin')) {
    mkdirSync(bin);
    for (const tool of ['node', 'npm', 'npx', 'pnpm', 'sh', 'env', 'tar', 'gzip']) linkTool(bin, tool);
  }
  const { CHASQUI_BACKEND: _, ...kept } = process.env;
  // npm reads its settings from the home folder, so only what chasqui looks at goes elsewhere.
  return { ...kept, PATH: bin };
}

function linkTool(bin: string, tool: string): void {
  const file = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, tool))
    .find(isFile);
  if (file) symlinkSync(realpathSync(file), join(bin, tool));
}

function isFile(path: string): boolean {
  try {
    return realpathSync(path) !== '';
  } catch {
    return false;
  }
}

export interface Run {
  status: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** Runs Node in an installation, to the end. */
export function run(folder: string, ...args: string[]): Run {
  return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env: environment(), timeout: 120_000 });
}

/** `npx chasqui`, without npx's own second. */
export function runChasqui(folder: string, ...args: string[]): Run {
  return run(folder, join('node_modules', 'chasqui', 'dist', 'cli.js'), ...args);
}

export function startChasqui(folder: string, ...args: string[]): ChildProcess {
  const cli = join('node_modules', 'chasqui', 'dist', 'cli.js');
  return spawn(process.execPath, [cli, ...args], {
    cwd: folder,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function environment(): NodeJS.ProcessEnv {
  return { ...withoutCompilers(), HOME: join(scratch, 'home') };
}
