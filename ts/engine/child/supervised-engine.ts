/**
 * An engine in a process of its own, which is started again when it ends. What was asked and not answered at all is asked
 * once more of the new process; what had begun fails with `engine_restarting`.
 */
import { ChasquiError } from '../../errors.js';
import type {
  ChatMessage,
  Embeddings,
  Engine,
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
import { deliver } from '../events.js';
import { type GenerateRequest, generate } from '../generate.js';
import type { Job } from '../job.js';
import type { LoadHooks, LoadOptions } from '../load-options.js';
import { Model } from '../model.js';
import { RelayedStream } from '../relayed-stream.js';
import type { JobStream } from '../token-stream.js';
import { untilAborted } from '../until-aborted.js';
import { RestartPolicy } from './restart-policy.js';
import { type EngineEnd, type StartedChild, startChild } from './start-child.js';
import { type Suspect, Suspects } from './suspects.js';
import { Watchdog } from './watchdog.js';

/** `onProgress` and `signal` are about the first load. */
export interface SupervisorHooks extends LoadHooks {
  /** How long a step may take before the process is ended, in milliseconds; 0 is for ever. */
  stepTimeoutMs?: number;
  /** Whether a process that ends through an error of its own leaves a core file, where the system writes them; default false. */
  coreDumps?: boolean;
  /** Told of every end but the last, and of what happens next. */
  onRestart?: (event: RestartEvent) => void;
}

export interface RestartEvent {
  end: EngineEnd;
  /** `null`: it is not started again. */
  afterMs: number | null;
}

const STEP_TIMEOUT_MS = 60_000;
const LOAD_TIMEOUT_MS = 10 * 60_000;
/** Of what was asked and not answered at all. */
const MAX_STARTS = 2;
const WATCH_MS = 1000;
/** A server that was suspended was as deaf as it takes its engine to be. */
const MAX_SILENCE_PER_WATCH_MS = 2 * WATCH_MS;

interface Running {
  model: Model;
  child: StartedChild;
}

export class SupervisedEngine implements Engine {
  readonly #path: string;
  readonly #hooks: SupervisorHooks;
  readonly #policy = new RestartPolicy();
  readonly #suspects = new Suspects();
  #options: LoadOptions;
  #info: ModelInfo;
  #state: EngineState = 'ready';
  /** The engine that runs or will; rejects when there will be none. */
  #current: Promise<Running>;
  #loadMs = 0;
  /** Why there will be none. */
  #failure = '';
  #closed: Promise<void> | null = null;
  readonly #closing = new AbortController();

  private constructor(path: string, options: LoadOptions, hooks: SupervisorHooks, first: Running) {
    this.#path = path;
    this.#options = options;
    this.#hooks = hooks;
    this.#info = first.model.model;
    this.#current = Promise.resolve(first);
    this.#watch(first);
  }

  /** Rejects as `loadModel` does: what fails at the first load is not tried again. */
  static async open(path: string, options: LoadOptions, hooks: SupervisorHooks = {}): Promise<SupervisedEngine> {
    return new SupervisedEngine(path, options, hooks, await startModel(path, options, hooks));
  }

  get model(): ModelInfo {
    return this.#info;
  }

  get state(): EngineState {
    return this.#state;
  }

  /** Of the process that computes now; `undefined` while there is none. */
  async pid(): Promise<number | undefined> {
    return this.#state === 'ready' ? (await this.#current).child.pid : undefined;
  }

  submit(job: Job, options: SubmitOptions = {}): TokenStream {
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
    return this.#ask([messages, options], on, (engine) => engine.render(messages, options, on));
  }

  countTokens(prompt: Pick<RenderedPrompt, 'prompt' | 'images'>, on: OnBehalf = {}): Promise<number> {
    return this.#ask([prompt.prompt, prompt.images], on, (engine) => engine.countTokens(prompt, on));
  }

  tokenize(text: string, options: Parameters<Engine['tokenize']>[1] = {}): Promise<Int32Array> {
    return this.#ask(text, options, (engine) => engine.tokenize(text, options));
  }

  tokenizeInfill(prefix: string, suffix: string, on: OnBehalf = {}): Promise<Int32Array> {
    return this.#ask([prefix, suffix], on, (engine) => engine.tokenizeInfill(prefix, suffix, on));
  }

  pieces(tokens: readonly number[], on: OnBehalf = {}): Promise<Uint8Array[]> {
    return this.#ask(tokens, on, (engine) => engine.pieces(tokens, on));
  }

  embed(inputs: readonly TextInput[], on: OnBehalf = {}): Promise<Embeddings> {
    return this.#ask(inputs, on, (engine) => engine.embed(inputs, on));
  }

  rank(query: string, documents: readonly string[], on: OnBehalf = {}): Promise<Ranking> {
    return this.#ask([query, documents], on, (engine) => engine.rank(query, documents, on));
  }

  async stats(): Promise<EngineStats> {
    if (this.#state !== 'ready') throw this.#unavailable();
    return (await this.#current).model.stats();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#state = 'closed';
    this.#closing.abort(new ChasquiError('engine_closed', 'The engine was closed.'));
    const running = await this.#current.catch(() => null);
    await running?.model.close();
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
        if (starts === MAX_STARTS || !isRestart(error)) throw error;
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
    if (this.#state === 'closed') return new ChasquiError('engine_closed', 'The engine was closed.');
    if (this.#state === 'failed') return new ChasquiError('engine_failed', this.#failure);
    return this.#restarting('it is being started again');
  }

  #restarting(why: string): ChasquiError {
    const error = new ChasquiError('engine_restarting', `The engine ended: ${why}. Try again in a moment.`);
    error.retryAfterSeconds = Math.max(1, Math.ceil(this.#loadMs / 1000));
    return error;
  }

  #watch(running: Running): void {
    const { child } = running;
    const watchdog = new Watchdog(this.#hooks.stepTimeoutMs ?? STEP_TIMEOUT_MS);
    let silentMs = 0;
    let seen = child.beat.at;
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      silentMs = child.beat.at === seen ? silentMs + Math.min(now - last, MAX_SILENCE_PER_WATCH_MS) : 0;
      seen = child.beat.at;
      last = now;
      const hangs = watchdog.check(child.beat.stats, silentMs);
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

  #ended({ model, child }: Running, end: EngineEnd): void {
    if (this.#closed !== null) return;
    this.#state = 'restarting';
    // What somebody from outside ended is started again at once, and however often.
    const isFault = end.cause !== 'killed';
    const afterMs = isFault ? this.#policy.afterFault(performance.now()) : 0;
    if (isFault) this.#suspects.engineEnded();
    this.#hooks.onRestart?.({ end, afterMs });
    this.#current = afterMs === null ? this.#fallBack(end) : this.#restart(afterMs);
    this.#current.catch(() => {});
    // Last, so that whatever is asked again asks the new engine.
    const reason = this.#restarting(end.message);
    child.core.end(reason);
    model.end(reason);
  }

  async #restart(afterMs: number): Promise<Running> {
    if (afterMs > 0) await sleep(afterMs, this.#closing.signal);
    const began = performance.now();
    try {
      const { coreDumps = false } = this.#hooks;
      const started = await startModel(this.#path, this.#options, { coreDumps, signal: this.#closing.signal });
      this.#loadMs = performance.now() - began;
      this.#info = { ...started.model.model, created: this.#info.created };
      this.#state = 'ready';
      this.#watch(started);
      return started;
    } catch (error) {
      if (this.#closed !== null) throw error;
      const next = this.#policy.afterFault(performance.now());
      const message = `it could not be started again: ${(error as Error).message}`;
      this.#hooks.onRestart?.({ end: { cause: 'crashed', message, signal: null, exitCode: null }, afterMs: next });
      return next === null ? this.#fallBack({ message }) : this.#restart(next);
    }
  }

  /** The CPU, where another backend was used; else there will be no engine. */
  async #fallBack({ message }: Pick<EngineEnd, 'message'>): Promise<Running> {
    if (this.#info.placement.devices.length > 0 && (this.#options.backend ?? 'auto') === 'auto') {
      this.#options = { ...this.#options, backend: 'cpu' };
      this.#policy.forget();
      return this.#restart(0);
    }
    this.#state = 'failed';
    this.#failure = `The engine ended again and again, the last time: ${message}. It is not started any more.`;
    throw this.#unavailable();
  }
}

async function startModel(path: string, options: LoadOptions, hooks: SupervisorHooks): Promise<Running> {
  const streams = new Map<number, JobStream>();
  const child = await startChild(path, options, {
    onEvents: (...events) => deliver(streams, ...events),
    onProgress: hooks.onProgress,
    signal: hooks.signal,
    loadTimeoutMs: LOAD_TIMEOUT_MS,
    coreDumps: hooks.coreDumps,
  });
  return { child, model: new Model(child.core, streams, child.info, options) };
}

function isRestart(error: unknown): boolean {
  return error instanceof ChasquiError && error.code === 'engine_restarting';
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
