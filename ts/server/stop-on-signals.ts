/** SIGINT and SIGTERM stop the server and end the process; a second signal ends it at once, and so does a deadline. */
import { Worker } from 'node:worker_threads';

export interface SignalOptions {
  /**
   * A signal that follows the first so soon does not count: `npm start` repeats a Ctrl-C that the terminal sent
   * already.
   */
  echoMs?: number;
  /** How long stopping may take, from the first signal. Longer than `stop`, so that its error can still be printed. */
  hardStopMs: number;
}

const ECHO_MS = 500;

/** How long the exit of the process may take. It waits for the engine's threads, and a busy machine delays these. */
const EXIT_MS = 5000;
/** The same after a second signal. */
const FORCED_EXIT_MS = 1000;

/**
 * Calls `onStop` and `stop` on the first signal. Exits with 0 when the server has stopped, with 1 when `stop` rejects,
 * which it does when the engine has failed, and with 130 on a second signal.
 */
export function stopOnSignals(stop: () => Promise<void>, onStop: () => void, options: SignalOptions): void {
  const { echoMs = ECHO_MS, hardStopMs } = options;
  let stoppingSince: number | null = null;
  let guard: Worker | null = null;
  const exit = (code: number, withinMs = EXIT_MS): never => {
    guard?.postMessage(withinMs);
    process.exit(code);
  };
  const onSignal = (): void => {
    if (stoppingSince !== null) {
      if (Date.now() - stoppingSince >= echoMs) exit(130, FORCED_EXIT_MS);
      return;
    }
    stoppingSince = Date.now();
    guard = startGuard(hardStopMs);
    onStop();
    stop().then(
      () => exit(0),
      (error: unknown) => {
        console.error('chasqui: stopping failed:', error);
        exit(1);
      },
    );
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}

/**
 * Kills the process after `limitMs`, or, once it is sent a number, after that many milliseconds. It runs on a thread of
 * its own, because a stuck engine can block the main thread too: exit handlers wait for the engine's threads.
 */
function startGuard(limitMs: number): Worker {
  const guard = new Worker(GUARD, { eval: true, workerData: limitMs, execArgv: [], env: {} });
  // A machine without memory for another thread stops without a guard.
  guard.on('error', () => undefined);
  guard.unref();
  return guard;
}

const GUARD = `
  const { writeSync } = require('node:fs');
  const { parentPort, workerData } = require('node:worker_threads');
  const kill = () => {
    try {
      writeSync(2, 'chasqui: the engine has not stopped in time; the process is killed\\n');
    } finally {
      process.kill(process.pid, 'SIGKILL');
    }
  };
  setTimeout(kill, workerData);
  parentPort.on('message', (ms) => setTimeout(kill, ms));
`;
