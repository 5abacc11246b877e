/** Runs parts of this project in child processes. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import path from 'node:path';
import { build } from 'esbuild';
import { nodeArguments } from './node-arguments.mjs';
import { root } from './places.js';
import { until } from './until.js';

const LIMIT_MS = 300_000;

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Child {
  process: ChildProcess;
  /** Output so far. */
  output: { stdout: string; stderr: string };
  exited: Promise<Exit>;
}

/** Bundles a script of the tests, which then starts in half the CPU time. For scripts that are started dozens of times. */
export async function bundleScript(file: string): Promise<string> {
  // One folder below package.json, as ts/ is: ts/version.ts reads that.
  const outfile = path.join(root, 'build', `test-${path.basename(file, '.ts')}.mjs`);
  const entryPoints = [path.join(root, file)];
  await build({ entryPoints, outfile, bundle: true, packages: 'external', platform: 'node', format: 'esm' });
  return outfile;
}

/** Starts a TypeScript file, such as `ts/cli.ts`, or a bundled script. `variables` are added to the environment of this process. */
export function startChild(file: string, args: readonly string[] = [], variables: NodeJS.ProcessEnv = {}): Child {
  return startCommand(process.execPath, [...nodeArguments(file), ...args], variables);
}

export function startCommand(command: string, args: readonly string[], variables: NodeJS.ProcessEnv): Child {
  return watch(spawn(command, args, { cwd: root, env: { ...process.env, ...variables } }));
}

/** Starts the command line in a shell: `script` must `exec "$@"`. */
export function startCliInShell(script: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}): Child {
  const command = [process.execPath, ...nodeArguments('ts/cli.ts'), ...args];
  return startCommand('sh', ['-c', script, 'sh', ...command], variables);
}

function watch(process_: ChildProcessWithoutNullStreams): Child {
  const output = { stdout: '', stderr: '' };
  process_.stdout.on('data', (data) => {
    output.stdout += data;
  });
  process_.stderr.on('data', (data) => {
    output.stderr += data;
  });
  const exited = new Promise<Exit>((resolve) => {
    process_.on('close', (code, signal) => resolve({ code, signal }));
  });
  return { process: process_, output, exited };
}

/** Runs the command line to its end. Throws when it has not ended after five minutes. */
export async function runCli(
  args: readonly string[],
  variables: NodeJS.ProcessEnv = {},
): Promise<Exit & { stdout: string; stderr: string }> {
  const child = startChild('ts/cli.ts', args, variables);
  let hangs = false;
  const timer = setTimeout(() => {
    hangs = true;
    child.process.kill('SIGKILL');
  }, LIMIT_MS);
  const exit = await child.exited;
  clearTimeout(timer);
  if (hangs) throw new Error(`Still running: chasqui ${args.join(' ')}\n${child.output.stdout}${child.output.stderr}`);
  return { ...exit, ...child.output };
}

/** Waits until the child's standard output matches the pattern. */
export async function untilWritten(child: Child, pattern: RegExp): Promise<RegExpExecArray> {
  let match: RegExpExecArray | null = null;
  const written = (): boolean => {
    match = pattern.exec(child.output.stdout);
    if (!match && child.process.exitCode !== null) throw new Error(`It ended: ${child.output.stderr}`);
    return match !== null;
  };
  await until(written, `${pattern} in the output`, 60_000);
  return match as unknown as RegExpExecArray;
}
