/** Runs `probe-child.ts`: tries modules in a child process. */
import { type ForkedScript, forkScript, START_LIMIT_MS } from '../process/fork-script.js';
import { withRemedy } from '../process/gpu-remedies.js';
import { HangWatch } from '../process/hang-watch.js';
import type { ProbeMessage, ProbeResult, ProbeTask } from './probe-child.js';

/** Limit of silence: a driver may have to compile kernels before each step. */
export const PROBE_LIMIT_MS = 10_000;

/** The child could not be started; this says nothing about the modules. */
export class ProbeNotPossible extends Error {}

/**
 * Returns one result for each file, in order. If a file crashes or hangs the child, a new child continues with the next one.
 * @throws {ProbeNotPossible} when no child can be started.
 */
export async function runProbe(
  addonPath: string,
  task: ProbeTask,
  files: readonly string[],
  limitMs = PROBE_LIMIT_MS,
): Promise<ProbeResult[]> {
  const results: ProbeResult[] = [];
  while (results.length < files.length) {
    const { reported, end } = await runChild(addonPath, task, files.slice(results.length), limitMs);
    results.push(...reported);
    if (results.length < files.length) results.push({ reason: withRemedy(end) });
  }
  return results;
}

interface ChildRun {
  reported: ProbeResult[];
  /** How the child ended: the `reason` for the current file. */
  end: string;
}

function runChild(addonPath: string, task: ProbeTask, files: readonly string[], limitMs: number): Promise<ChildRun> {
  const { child, describeCrash } = start([addonPath, task, ...files]);
  return new Promise((resolve, reject) => {
    const reported: ProbeResult[] = [];
    let ready = false;
    let end = '';
    const watch = new HangWatch(child.pid, (limit) => {
      end = `it gave no sign of life for ${limit / 1000} s`;
      child.kill('SIGKILL');
    });
    watch.expectSign(START_LIMIT_MS);
    child.on('message', (message: ProbeMessage) => {
      watch.expectSign(limitMs);
      if (message.sign === undefined) {
        reported.push(message.reason === undefined ? message : { ...message, reason: withRemedy(message.reason) });
      }
      ready = true;
    });
    child.once('error', (error) => {
      watch.stop();
      reject(notStarted(error));
    });
    child.once('close', (code, signal) => {
      watch.stop();
      if (ready) resolve({ reported, end: end || describeCrash(code, signal) });
      else reject(new ProbeNotPossible(end || describeCrash(code, signal)));
    });
  });
}

function start(args: readonly string[]): ForkedScript {
  try {
    return forkScript(new URL('probe-child', import.meta.url), args);
  } catch (error) {
    throw notStarted(error as Error);
  }
}

function notStarted({ message }: Error): ProbeNotPossible {
  return new ProbeNotPossible(`no process could be started to try modules in: ${message}`);
}
