/** Preparation in a process of its own, which is replaced when it ends or hangs: only the request that caused it notices. */
import type { LoadOptions } from '../load-options.js';
import type { RestartEvent } from './restart-event.js';
import { LOAD_TIMEOUT_MS, type StartedPreparation, type StartPreparation, startPreparation } from './start-child.js';
import { type EndOfProcess, type NextStart, type SupervisedProcess, Supervisor } from './supervisor.js';

export interface PreparationHooks {
  /** As of the engine. A shorter limit than SILENCE_MS applies here too. */
  stepTimeoutMs?: number | undefined;
  /** Aborts the first start. */
  signal?: AbortSignal | undefined;
  coreDumps?: boolean | undefined;
  onRestart?: ((event: RestartEvent) => void) | undefined;
  /** The state has changed, other than to `closed`. */
  onState?: (() => void) | undefined;
}

export type PreparationProcess = SupervisedProcess & Pick<StartedPreparation, 'core'>;

/** How long the process may give no sign of life while calls are pending. */
const SILENCE_MS = 10_000;
const MAX_DELAY_MS = 30_000;

/** Rejects as `loadModel` does. */
export async function openPreparation(
  path: string,
  options: LoadOptions,
  { stepTimeoutMs, signal, coreDumps, onRestart, onState }: PreparationHooks = {},
  start: StartPreparation = startPreparation,
): Promise<Supervisor<PreparationProcess>> {
  let failures = 0;
  const nextStart = ({ end, startError, isUsed }: EndOfProcess): NextStart => {
    // A process that ends by itself before it has done anything would do so again and again.
    const isReplacedAtOnce = startError === undefined && (isUsed || end.cause === 'killed');
    if (isReplacedAtOnce) return { afterMs: 0, requestsWait: true };
    failures += 1;
    return { afterMs: Math.min(1000 * 2 ** (failures - 1), MAX_DELAY_MS), requestsWait: false };
  };
  return Supervisor.open<PreparationProcess>(
    {
      process: 'preparation',
      name: 'The preparation process',
      stepTimeoutMs: Math.min(stepTimeoutMs || SILENCE_MS, SILENCE_MS),
      start: async (startSignal) => {
        const hooks = { coreDumps, signal: startSignal, loadTimeoutMs: LOAD_TIMEOUT_MS };
        const started = await start(path, options, hooks);
        const { core } = started;
        return { ...started, end: (reason) => core.end(reason), close: () => core.close() };
      },
      nextStart,
      // A `stuck` process has told the request that blocked it.
      innocentCauses: ['killed', 'stuck'],
      retriesInTurn: false,
      refusesAtOnce: true,
      signsOfLifeEndTrials: true,
      restartsUnnoticed: true,
      isIdle: ({ core }) => !core.waits,
      onStarted: () => {
        failures = 0;
      },
      onRestart,
      onState,
    },
    signal,
  );
}
