/**
 * An engine in processes of its own: a worker computes, a preparation process prepares requests. Each is started again when
 * it ends. Requests without a result are repeated once; streams that have begun fail with `engine_restarting`.
 */
import type { ChasquiError } from '../../errors.js';
import { isOutOfFiles } from '../../process/open-files.js';
import type { AdapterUse } from '../adapter-file.js';
import { CALLS, type CallArgs, type Caller, type CallInput, type CallName, type CallResult } from '../calls.js';
import { renderDefaults } from '../chat-template.js';
import { closeWhenDropped, Engine } from '../engine.js';
import { engineClosed, withReason } from '../engine-errors.js';
import type {
  AbortOptions,
  EngineProcesses,
  EngineState,
  ModelInfo,
  SubmitOptions,
  TokenStream,
} from '../engine-types.js';
import type { Job } from '../job.js';
import type { LoadHooks, LoadOptions } from '../load-options.js';
import { Model } from '../model.js';
import { JobStream } from '../token-stream.js';
import { LoadLimitExceeded } from './load-limits.js';
import type { RestartEvent } from './restart-event.js';
import { RestartPolicy } from './restart-policy.js';
import {
  LOAD_TIMEOUT_MS,
  type StartChild,
  type StartPreparation,
  startChild,
  startPreparation,
} from './start-child.js';
import { openPreparation, type PreparationProcess } from './supervised-preparation.js';
import { type NextStart, type SupervisedProcess, Supervisor } from './supervisor.js';
import type { Attempt } from './suspects.js';

/** `onProgress` and `signal` apply to the first load. */
export interface SupervisorHooks extends LoadHooks {
  /** Limit for a step of the worker; 0: none. Default 60,000. Limits below 10,000 apply to silence of the preparation too. */
  stepTimeoutMs?: number;
  /** Whether a crash may leave a core file; default false. */
  coreDumps?: boolean;
  /** Called for every unexpected end and every failed start. */
  onRestart?: (event: RestartEvent) => void;
  /** `state` has changed, other than to `closed`. */
  onState?: () => void;
}

export interface Starts {
  engine: StartChild;
  preparation: StartPreparation;
}

const STEP_TIMEOUT_MS = 60_000;
/** Delay after a start that failed because file descriptors ran out. */
const NO_FILES_DELAY_MS = 5000;

export class SupervisedEngine extends Engine {
  model: ModelInfo;
  readonly #preparation: Supervisor<PreparationProcess>;
  readonly #worker: Supervisor<Worker>;

  private constructor(
    options: LoadOptions,
    preparation: Supervisor<PreparationProcess>,
    worker: Supervisor<Worker>,
    info: ModelInfo,
  ) {
    super(renderDefaults(options), options);
    this.#preparation = preparation;
    this.#worker = worker;
    this.model = info;
  }

  /** Rejects as `loadModel` does: a first load that fails is not repeated. */
  static async open(
    path: string,
    options: LoadOptions,
    hooks: SupervisorHooks = {},
    starts: Starts = { engine: startChild, preparation: startPreparation },
  ): Promise<SupervisedEngine> {
    const { onProgress, signal, coreDumps, onRestart, onState } = hooks;
    const preparing = openPreparation(path, options, hooks, starts.preparation);
    const overload = new AbortController();
    // The worker reports errors in the model.
    preparing.catch((error) => {
      if (error instanceof LoadLimitExceeded) overload.abort(error);
    });
    const policy = new RestartPolicy();
    // Weak: the supervisors must not keep an engine that its user has dropped.
    let engine: WeakRef<SupervisedEngine> | undefined;
    let backend = options.backend;
    const delayAfterFailure = (): number | null => {
      const afterMs = policy.delayAfterFailure(performance.now());
      const usesGpu = (engine?.deref()?.model.placement.devices.length ?? 0) > 0;
      const mayFallBack = usesGpu && (backend ?? 'auto') === 'auto';
      if (afterMs !== null || !mayFallBack) return afterMs;
      // The CPU is tried before the engine is given up.
      backend = 'cpu';
      policy.forget();
      return 0;
    };
    try {
      const worker = await Supervisor.open<Worker>(
        {
          process: 'engine',
          name: 'The engine',
          stepTimeoutMs: hooks.stepTimeoutMs ?? STEP_TIMEOUT_MS,
          start: (startSignal) => {
            const stop = AbortSignal.any([overload.signal, ...(startSignal ? [startSignal] : [])]);
            const startHooks = { coreDumps, signal: stop, ...(engine === undefined && { onProgress }) };
            const current = backend === undefined ? options : { ...options, backend };
            return startModel(starts.engine, path, current, startHooks, preparing);
          },
          nextStart: ({ end, startError }): NextStart => {
            // Not caused by the engine: retry indefinitely; requests fail fast meanwhile.
            if (isOutOfFiles(startError)) return { afterMs: NO_FILES_DELAY_MS, requestsWait: false };
            return { afterMs: end.cause === 'killed' ? 0 : delayAfterFailure(), requestsWait: true };
          },
          innocentCauses: ['killed'],
          retriesInTurn: true,
          refusesAtOnce: false,
          signsOfLifeEndTrials: false,
          restartsUnnoticed: false,
          onStarted: ({ model }) => {
            const known = engine?.deref();
            if (known !== undefined) known.#replaceInfo(backend === options.backend ? model.model : onCpu(model.model));
          },
          onRestart,
          onState,
        },
        signal,
      );
      const [{ model }, preparation] = await Promise.all([worker.process(), preparing]);
      const opened = new SupervisedEngine(options, preparation, worker, model.model);
      engine = new WeakRef(opened);
      closeWhenDropped(opened, () => Promise.all([worker.close(), preparation.close()]));
      return opened;
    } catch (error) {
      void preparing.then((preparation) => preparation.close()).catch(() => {});
      throw error;
    }
  }

  get state(): EngineState {
    const { state } = this.#worker;
    return state === 'ready' ? this.#preparation.state : state;
  }

  override get processes(): EngineProcesses {
    return { engine: this.#worker.pid, preparation: this.#preparation.pid };
  }

  submit(given: Job | Promise<Job>, options: SubmitOptions = {}): TokenStream {
    const { adaptersInUse = null } = this.model;
    const { signal } = options;
    let attempt: Attempt<Worker> | undefined;
    const start = async (failure?: unknown): Promise<void> => {
      try {
        const wanted = given instanceof Promise ? await given : given;
        const job = { ...wanted, adapters: wanted.adapters ?? adaptersInUse };
        const { prompt, images, grammar } = job;
        attempt ??= this.#worker.attempt({ prompt, images, grammar }, signal);
        const { model } = await attempt.start(failure);
        model.run(stream, job, options);
      } catch (error) {
        stream.end(error);
      }
    };
    const stream = new JobStream({
      ...options,
      onBegin: () => attempt?.setHarmless(),
      onEnd: (complete) => attempt?.end(complete),
      restart: start,
    });
    if (!stream.ended) void start();
    return stream;
  }

  async call<M extends CallName>(method: M, input: CallInput<M>, on: AbortOptions = {}): Promise<CallResult<M>> {
    const { runsIn, failsFast } = CALLS[method];
    const { signal } = on;
    try {
      // The preparation process repeats its calls itself, so the end of the worker does not matter to them.
      if (failsFast || runsIn === 'preparation') {
        const { model } = failsFast ? await this.#worker.processNow() : await this.#worker.process(signal);
        return await model.call(method, input, on);
      }
      const args = typeof input === 'function' ? input(this.model) : input;
      return await this.#worker.run(args, ({ model }) => model.call(method, args, on), signal);
    } catch (error) {
      throw withReason(error, this.#worker.closedBy);
    }
  }

  useAdapters(adapters: readonly AdapterUse[]): void {
    this.model = { ...this.model, adaptersInUse: adapters };
  }

  async close(reason: ChasquiError = engineClosed()): Promise<void> {
    await Promise.all([this.#worker.close(reason), this.#preparation.close(reason)]);
  }

  #replaceInfo(info: ModelInfo): void {
    const { created, adaptersInUse } = this.model;
    this.model = { ...info, created, ...(adaptersInUse && { adaptersInUse }) };
  }
}

const FELL_BACK =
  'The engine crashed repeatedly on the GPU, so it uses the CPU. Restart the server to try the GPU again';

function onCpu(info: ModelInfo): ModelInfo {
  return { ...info, unfitted: FELL_BACK };
}

interface StartHooks extends LoadHooks {
  coreDumps?: boolean | undefined;
}

interface Worker extends SupervisedProcess {
  readonly model: Model;
}

/** Starts the worker. `preparing` may still be starting. Rejects as both do. */
async function startModel(
  start: StartChild,
  path: string,
  options: LoadOptions,
  { coreDumps, onProgress, signal }: StartHooks,
  preparing: Promise<Supervisor<PreparationProcess>>,
): Promise<Worker> {
  const streams = new Map<number, JobStream>();
  const child = await start(path, options, { streams, onProgress, signal, loadTimeoutMs: LOAD_TIMEOUT_MS, coreDumps });
  const { core, info } = child;
  try {
    const preparation = await preparing;
    const prepare: Caller['call'] = (method, args, on) =>
      preparation.run(args, (process) => process.core.call(method, args, on), on?.signal);
    const model = new Model(core, streams, info, options, new SplitCalls(core, prepare, info));
    const end: Worker['end'] = (reason) => {
      core.end(reason);
      model.end(reason);
    };
    return { ...child, model, end, close: (reason) => model.close(reason) };
  } catch (error) {
    await core.close();
    throw error;
  }
}

/** Runs each call in the process that the table of calls names. */
export class SplitCalls implements Caller {
  constructor(
    private readonly worker: Caller,
    private readonly prepare: Caller['call'],
    private readonly info: Pick<ModelInfo, 'contextLength' | 'generates'>,
  ) {}

  async call<M extends CallName>(method: M, args: CallArgs<M>, on?: AbortOptions): Promise<CallResult<M>> {
    const { runsIn } = CALLS[method];
    if (runsIn === 'preparation') return this.prepare(method, args, on);
    if (method === 'tokenizePrompt' || method === 'embedPrompt') {
      const [prompt, images] = args as unknown as CallArgs<'tokenizePrompt'>;
      // The worker reports that the model generates nothing.
      if (this.info.generates) {
        const tokens = await this.prepare('tokenizeTextPrompt', [prompt, this.info.contextLength], on);
        // Only the worker has a projector, which determines the number of tokens of an image.
        if (images.length === 0) return { tokens, media: null } as CallResult<M>;
      }
    } else if (runsIn === 'both') {
      await this.prepare(method, args, on);
    }
    return this.worker.call(method, args, on);
  }
}
