/** Runs a deployment script in a child process and returns its exported apps as data. */
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ChasquiError } from '../../errors.js';
import { START_LIMIT_MS } from '../../process/fork-script.js';
import { HangWatch } from '../../process/hang-watch.js';
import type { Json } from './canonical-json.js';

export interface ExportedApp {
  name: string;
  options: Json;
}

export type Evaluated =
  | { kind: 'apps'; apps: ExportedApp[] }
  /** `ofScript`: the script threw; otherwise an export is not plain data. */
  | { kind: 'failed'; reason: string; ofScript: boolean };

const EVALUATION_LIMIT_MS = 10_000;
const MEMORY_LIMIT_MIB = 256;
const MAX_STDERR = 4000;

const MAIN = new URL(`./evaluate-main${path.extname(import.meta.url)}`, import.meta.url);

/** @throws {ChasquiError} `script_invalid` */
export async function evaluateScript(file: string, limitMs = EVALUATION_LIMIT_MS): Promise<ExportedApp[]> {
  const script = path.resolve(file);
  if (!existsSync(script)) throw new ChasquiError('script_invalid', `The script ${file} does not exist.`);
  const result = await runScript(script, file, limitMs);
  if (result.kind === 'apps') return result.apps;
  const message = result.ofScript ? `The script ${file} failed: ${result.reason}` : `In ${file}, ${result.reason}`;
  throw new ChasquiError('script_invalid', `${message}.`);
}

function runScript(script: string, shownAs: string, limitMs: number): Promise<Evaluated> {
  const child = fork(fileURLToPath(MAIN), [script], {
    // Run from source, the child needs the parent's loader options.
    execArgv: [...(MAIN.pathname.endsWith('.ts') ? process.execArgv : []), `--max-old-space-size=${MEMORY_LIMIT_MIB}`],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  return new Promise<Evaluated>((resolve, reject) => {
    const fail = (problem: string) => reject(new ChasquiError('script_invalid', `The script ${shownAs} ${problem}.`));
    const watch = new HangWatch(child.pid, (ms) => fail(`did not finish within ${ms / 1000} seconds`));
    watch.expectSign(START_LIMIT_MS);
    let stderr = '';
    child.stderr?.on('data', (data: Buffer) => {
      stderr = `${stderr}${data}`.slice(-MAX_STDERR);
    });
    child.on('message', (message: Evaluated | { kind: 'started' }) => {
      if (message.kind === 'started') return watch.expectSign(limitMs);
      watch.stop();
      resolve(message);
    });
    child.on('error', (error) => fail(`could not be run: ${error.message}`));
    child.on('close', () => {
      watch.stop();
      fail(/heap out of memory/.test(stderr) ? `needs more than ${MEMORY_LIMIT_MIB} MiB` : 'ended without a result');
    });
    // Timers and connections of the script would keep the process running.
  }).finally(() => child.kill('SIGKILL'));
}
