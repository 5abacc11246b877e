/**
 * An engine in a process of its own, which is started again when it ends. What was asked and not answered at all is asked
 * once more of the new process; what had begun fails with `engine_restarting`. What prepares requests for it has another
 * process, which ends and starts apart from this one.
 */
import { ChasquiError } from '../../errors.js';
import { isOutOfFiles } from '../../process/open-files.js';
import type { AdapterUse } from '../adapter-file.js';
import type {
  ChatMessage,
  Embeddings,
  Engine,
  EngineProcesses,
  EngineState,
  EngineStats,
  ModelInfo,
  OnBehalf,
  Ranking,
  RenderedPrompt,
  RenderOptions,
  SubmitOptions,
  TextInput,
  TokenStream,
} from '../engine.js';
import { engineClosed, withReason } from '../engine-closed.js';
import { type GenerateRequest, generate } from '../generate.js';
import type { Job } from '../job.js';
import type { LoadHooks, LoadOptions } from '../load-options.js';
import type { Model } from '../model.js';
import { RelayedStream } from '../relayed-stream.js';
import { untilAborted } from '../until-aborted.js';
import { failedStart, type RestartEvent } from './restart-event.js';
import { RestartPolicy } from './restart-policy.js';
import { type EngineEnd, type StartChild, type StartPreparation, startChild, startPreparation } from './start-child.js';
import { type RunningModel, startModel } from './start-model.js';
import { SupervisedPreparation } from './supervised-preparation.js';
import { type Suspect, Suspects } from './suspects.js';
import { Watchdog } from './watchdog.js';

/** `onProgress` and `signal` are about the first load. */
export interface SupervisorHooks extends LoadHooks {
  /** How long a step may take before the process is ended, in milliseconds; 0 is for ever. */
  stepTimeoutMs?: number;
  /** Whether a process that ends through an error of its own leaves a core file, where the system writes them; default false. */
  coreDumps?: boolean;
  /** Told of every end that nobody asked for, of every start that fails, and of what happens next. */
  onRestart?: (event: RestartEvent) => void;
  /** Told when `state` has changed, unless the engine was closed. */
  onState?: () => void;
}

/** How processes are started. */
export interface Starts {
  engine: StartChild;
  preparation: StartPreparation;
}

const STEP_TIMEOUT_MS = 60_000;
/** Of what was asked and not answered at all. */
const MAX_STARTS = 2;
const WATCH_MS = 1000;
/** Between starts for which there are no files. */
const NO_FILES_DELAY_MS = 5000;

export class SupervisedEngine implements Engine {
  readonly #path: string;
  readonly #hooks: SupervisorHooks;
  readonly #start: StartChild;
  readonly #preparation: SupervisedPreparation;
  readonly #policy = new RestartPolicy();
  readonly #suspects = new Suspects();
  #options: LoadOptions;
  #info: ModelInfo;
  #state: EngineState = 'ready';
  /** The engine that runs or will; rejects when there will be none. */
  #current: Promise<RunningModel>;
  #pid: number | null = null;
  #loadMs: number;
  /** Why there will be none. */
  #failure = '';
  #closed: Promise<void> | null = null;
  /** Why it was closed. */
  #closedBy: ChasquiError | null = null;
  readonly #closing = new AbortController();

  private constructor(
    path: string,
    options: LoadOptions,
    hooks: SupervisorHooks,
    start: StartChild,
    preparation: SupervisedPreparation,
    first: RunningModel,
  ) {
    this.#path = path;
    this.#options = options;
    this.#hooks = hooks;
    this.#start = start;
    this.#preparation = preparation;
    this.#info = first.model.model;
    this.#loadMs = first.loadMs;
    this.#current = Promise.resolve(first);
    this.#watch(first);
  }

  /** Rejects as `loadModel` does: what fails at the first load is not tried again. */
  static async open(
    path: string,
    options: LoadOptions,
    hooks: SupervisorHooks = {},
    starts: Starts = { engine: startChild, preparation: startPreparation },
  ): Promise<SupervisedEngine> {
    const { signal, coreDumps, onRestart, onState } = hooks;
    const preparing = SupervisedPreparation.open(
      path,
      options,
      { signal, coreDumps, onRestart, onState },
      starts.preparation,
    );
    // Of what is wrong with the model its engine tells.
    preparing.catch(() => {});
    try {
      const first = await startModel(starts.engine, path, options, hooks, preparing);
      return new SupervisedEngine(path, options, hooks, starts.engine, await preparing, first);
    } catch (error) {
      void preparing.then((preparation) => preparation.close()).catch(() => {});
      throw error;
    }
  }

  get model(): ModelInfo {
    return this.#info;
  }

  get state(): EngineState {
    return this.#state === 'ready' ? this.#preparation.state : this.#state;
  }

  get processes(): EngineProcesses {
    return { engine: this.#state === 'ready' ? this.#pid : null, preparation: this.#preparation.pid };
  }

  submit(given: Job, options: SubmitOptions = {}): TokenStream {
    const job = { ...given, adapters: given.adapters ?? this.#info.adaptersInUse ?? null };
    const { prompt, images, grammar } = job;
    let suspect: Suspect | undefined;
    let starts = 0;
    const { signal } = options;
    const start = async (failure: unknown): Promise<TokenStream> => {
      suspect?.end(false);
      starts += 1;
      if (failure !== undefined && (starts > MAX_STARTS || !isRestart(failure))) throw failure;
      suspect = this.#suspects.begin({ prompt, images, grammar });
      return (await this.#engineFor(suspect, starts, signal)).submit(job, options);
    };
    const end = (well: boolean): void => {
      signal?.removeEventListener('abort', onAbort);
      suspect?.end(well);
    };
    // Nobody may be reading.
    const onAbort = () => end(false);
    signal?.addEventListener('abort', onAbort);
    return new RelayedStream(start, { onBegin: () => suspect?.passed(), onEnd: end }, options.whole);
  }

  /** See `generate`. */
  generate(request: GenerateRequest, options: OnBehalf = {}): TokenStream {
    return generate(this, request, options, this.#options.imageHosts);
  }

  render(messages: readonly ChatMessage[], options: RenderOptions = {}, on: OnBehalf = {}): Promise<RenderedPrompt> {
    return this.#prepare(on, (engine) => engine.render(messages, options, on));
  }

  countTokens(prompt: Pick<RenderedPrompt, 'prompt' | 'images'>, on: OnBehalf = {}): Promise<number> {
    // The tokens of images are counted by the engine's process.
    if (prompt.images.length === 0) return this.#prepare(on, (engine) => engine.countTokens(prompt, on));
    return this.#ask([prompt.prompt, prompt.images], on, (engine) => engine.countTokens(prompt, on));
  }

  tokenize(text: string, options: Parameters<Engine['tokenize']>[1] = {}): Promise<Int32Array> {
    return this.#prepare(options, (engine) => engine.tokenize(text, options));
  }

  tokenizeInfill(prefix: string, suffix: string, on: OnBehalf = {}): Promise<Int32Array> {
    return this.#prepare(on, (engine) => engine.tokenizeInfill(prefix, suffix, on));
  }

  pieces(tokens: readonly number[], on: OnBehalf = {}): Promise<Uint8Array[]> {
    return this.#prepare(on, (engine) => engine.pieces(tokens, on));
  }

  embed(inputs: readonly TextInput[], on: OnBehalf = {}): Promise<Embeddings> {
    return this.#ask(inputs, on, (engine) => engine.embed(inputs, on));
  }

  rank(query: string, documents: readonly string[], on: OnBehalf = {}): Promise<Ranking> {
    return this.#ask([query, documents], on, (engine) => engine.rank(query, documents, on));
  }

  useAdapters(adapters: readonly AdapterUse[]): void {
    this.#info = { ...this.#info, adaptersInUse: adapters };
  }

  async stats(): Promise<EngineStats> {
    if (this.#state !== 'ready') throw this.#unavailable();
    return (await this.#current).model.stats();
  }

  close(reason: ChasquiError = engineClosed()): Promise<void> {
    this.#closedBy ??= reason;
    this.#closed ??= this.#close(reason);
    return this.#closed;
  }

  async #close(reason: ChasquiError): Promise<void> {
    this.#state = 'closed';
    this.#closing.abort(reason);
    const preparation = this.#preparation.close();
    const running = await this.#current.catch(() => null);
    await Promise.all([running?.model.close(reason), preparation]);
  }

  /** For what the engine's process has no part in, so that its end is no matter; the other process sees to its own. */
  async #prepare<T>({ signal }: OnBehalf, ask: (engine: Engine) => Promise<T>): Promise<T> {
    try {
      const { model } = await untilAborted(this.#current, signal, () => {});
      return await ask(model);
    } catch (error) {
      throw withReason(error, this.#closedBy);
    }
  }

  /** Asks once more when the engine ended; what has no parts cannot have begun. */
  async #ask<T>(request: unknown, { signal }: OnBehalf, ask: (engine: Engine) => Promise<T>): Promise<T> {
    for (let starts = 1; ; starts += 1) {
      const suspect = this.#suspects.begin(request);
      try {
        const answer = await ask(await this.#engineFor(suspect, starts, signal));
        suspect.end(true);
        return answer;
      } catch (error) {
        suspect.end(false);
        if (starts === MAX_STARTS || !isRestart(error)) throw withReason(error, this.#closedBy);
      }
    }
  }

  /** What is tried once more gets its engine last, for the one that was on trial before it may have ended that. */
  async #engineFor(suspect: Suspect, starts: number, signal: AbortSignal | undefined): Promise<Model> {
    if (starts > 1) await untilAborted(this.#suspects.trial(suspect), signal, () => {});
    if (this.#state === 'failed' || this.#state === 'closed') throw this.#unavailable();
    const { model } = await untilAborted(this.#current, signal, () => {});
    suspect.entered();
    return model;
  }

  #unavailable(): ChasquiError {
    if (this.#closedBy !== null) return this.#closedBy;
    if (this.#state === 'failed') return new ChasquiError('engine_failed', this.#failure);
    return this.#restarting('it is being started again');
  }

  #restarting(why: string): ChasquiError {
    const error = new ChasquiError('engine_restarting', `The engine ended: ${why}. Try again in a moment.`);
    error.retryAfterSeconds = Math.max(1, Math.ceil(this.#loadMs / 1000));
    return error;
  }

  #watch(running: RunningModel): void {
    const { child } = running;
    this.#pid = child.pid ?? null;
    const watchdog = new Watchdog(this.#hooks.stepTimeoutMs ?? STEP_TIMEOUT_MS);
    let seen = child.beat.at;
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      const { stats, at } = child.beat;
      const hangs = watchdog.check(stats, at !== seen, now - last);
      seen = at;
      last = now;
      if (hangs === null) return;
      clearInterval(timer);
      child.abort(hangs);
    }, WATCH_MS);
    timer.unref();
    void child.ended.then((end) => {
      clearInterval(timer);
      this.#ended(running, end);
    });
  }

  #ended({ model, child }: RunningModel, end: EngineEnd): void {
    if (this.#closed !== null) {
      // What was asked before it was closed may not have been answered.
      child.core.end(this.#closedBy ?? engineClosed());
      return;
    }
    // What somebody from outside ended is started again at once, and however often.
    const isFailure = end.cause !== 'killed';
    if (isFailure) this.#suspects.ended(end.message);
    this.#startAgain(end, isFailure ? this.#delayAfterFailure() : 0);
    // Last, so that whatever is asked again asks the new engine.
    const reason = this.#restarting(end.message);
    child.core.end(reason);
    model.end(reason);
  }

  #startAgain(end: EngineEnd, afterMs: number | null): Promise<RunningModel> {
    this.#become('restarting');
    this.#hooks.onRestart?.({ process: 'engine', end, afterMs });
    this.#current = afterMs === null ? this.#giveUp(end) : this.#restart(afterMs);
    this.#current.catch(() => {});
    return this.#current;
  }

  /** Where another backend was used, the CPU is tried before the engine is given up. */
  #delayAfterFailure(): number | null {
    const afterMs = this.#policy.delayAfterFailure(performance.now());
    const mayFallBack = this.#info.placement.devices.length > 0 && (this.#options.backend ?? 'auto') === 'auto';
    if (afterMs !== null || !mayFallBack) return afterMs;
    this.#options = { ...this.#options, backend: 'cpu' };
    this.#policy.forget();
    return 0;
  }

  async #restart(afterMs: number): Promise<RunningModel> {
    if (afterMs > 0) await sleep(afterMs, this.#closing.signal);
    let started: RunningModel;
    try {
      const { coreDumps = false } = this.#hooks;
      const hooks = { coreDumps, signal: this.#closing.signal };
      started = await startModel(this.#start, this.#path, this.#options, hooks, this.#preparation);
    } catch (error) {
      if (this.#closed !== null) throw error;
      if (isOutOfFiles(error)) return this.#tryLater(failedStart(error));
      return this.#startAgain(failedStart(error), this.#delayAfterFailure());
    }
    this.#watch(started);
    // It is closed by whoever waits for it there.
    if (this.#closed !== null) return started;
    this.#loadMs = started.loadMs;
    const { created, adaptersInUse } = this.#info;
    this.#info = { ...started.model.model, created, ...(adaptersInUse && { adaptersInUse }) };
    this.#become('ready');
    return started;
  }

  /** Of the engine that says nothing, so it is tried again for as long as it takes; until then nobody waits. */
  async #tryLater(end: EngineEnd): Promise<never> {
    this.#hooks.onRestart?.({ process: 'engine', end, afterMs: NO_FILES_DELAY_MS });
    const again = () => {
      this.#current = this.#restart(0);
      this.#current.catch(() => {});
    };
    sleep(NO_FILES_DELAY_MS, this.#closing.signal).then(again, () => {});
    throw this.#restarting(end.message);
  }

  #become(state: EngineState): void {
    this.#state = state;
    this.#hooks.onState?.();
  }

  async #giveUp({ message }: EngineEnd): Promise<never> {
    this.#become('failed');
    this.#failure = `The engine ended again and again, the last time: ${message}. It is not started any more.`;
    throw this.#unavailable();
  }
}

function isRestart(error: unknown): boolean {
  return error instanceof ChasquiError && error.code === 'engine_restarting';
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
