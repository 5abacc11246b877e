/** SIGINT and SIGTERM end the process in good order; a second one ends it at once, and a deadline whatever happens. */
import { Worker } from 'node:worker_threads';

export interface SignalOptions {
  /** `npm start` passes a Ctrl-C on that the terminal has sent to us already: what comes so soon is no second one. */
  echoMs?: number;
  /** How long stopping may take, from the first signal. */
  hardStopMs?: number;
}

const ECHO_MS = 500;

/** `stop()` of a server gives up a second earlier, and can still say what it waited for. */
const HARD_STOP_MS = 15_000;

/** How long a process that was told to exit may take for it: the engine's threads are waited for on the way out. */
const EXIT_MS = 1000;

/** Calls `stop` on the first signal, then exits with 0; `onStop` is told that it began. */
export function stopOnSignals(stop: () => Promise<void>, onStop: () => void, options: SignalOptions = {}): void {
  const { echoMs = ECHO_MS, hardStopMs = HARD_STOP_MS } = options;
  let stoppingSince: number | null = null;
  let guard: Worker | null = null;
  const exit = (code: number): never => {
    guard?.postMessage(EXIT_MS);
    process.exit(code);
  };
  const onSignal = (): void => {
    if (stoppingSince !== null) {
      if (Date.now() - stoppingSince >= echoMs) exit(130);
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
 * Kills the process after `limitMs`, or so many milliseconds after it is sent a number. On a thread of its own, because
 * an engine that stands still can hold the main one too: what runs on exit waits for the engine's threads.
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
