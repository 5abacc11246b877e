/** Runs commands in this process, which saves the start of Node.js. */
import { CommanderError } from 'commander';
import { runProgram } from '../../ts/cli/program.js';

export interface Called {
  code: number;
  stdout: string;
  stderr: string;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Like `runCli`, for commands that end by themselves and start no server. Calls run one after another, because they
 * share the environment and the output of this process.
 */
export function callCli(args: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<Called> {
  const called = last.then(() => call(args, variables));
  last = called.catch(() => undefined);
  return called;
}

async function call(args: readonly string[], variables: NodeJS.ProcessEnv): Promise<Called> {
  const output = { stdout: '', stderr: '' };
  const capture = (name: keyof typeof output) => (text: string | Uint8Array) => {
    output[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
    return true;
  };
  const listeners = process.stdout.listeners('error');
  const restore = [
    replace(process.stdout, { write: capture('stdout') as never, isTTY: false }),
    replace(process.stderr, { write: capture('stderr') as never, isTTY: false }),
    replace(process, { exit: leave, exitCode: undefined }),
    replace(process.env, variables),
  ];
  try {
    await runProgram(['node', 'chasqui', ...args]);
    return { code: Number(process.exitCode ?? 0), ...output };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { code: error.exitCode, ...output };
  } finally {
    for (const each of restore) each();
    for (const listener of process.stdout.listeners('error')) {
      if (!listeners.includes(listener)) process.stdout.off('error', listener as () => void);
    }
  }
}

/** Commands let errors of this kind through. */
function leave(code?: number | string | null): never {
  throw new CommanderError(Number(code ?? 0), 'tests.exit', '');
}

/** Returns a function that undoes it. */
function replace<Target extends object>(target: Target, values: Partial<Target>): () => void {
  const names = Object.keys(values) as (keyof Target & string)[];
  const before = names.map((name) => [name, Object.getOwnPropertyDescriptor(target, name)] as const);
  const set = (name: keyof Target & string, value: unknown) => {
    if (value === undefined && target === (process.env as object)) delete target[name];
    else target[name] = value as never;
  };
  for (const name of names) set(name, values[name]);
  return () => {
    for (const [name, descriptor] of before) {
      if (descriptor === undefined) delete target[name];
      else if ('value' in descriptor) set(name, descriptor.value);
      else set(name, undefined);
    }
  };
}
