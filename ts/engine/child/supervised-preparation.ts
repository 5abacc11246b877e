/**
 * What prepares requests, in a process of its own, which is replaced when it ends or hangs. Whatever was being prepared is
 * prepared once more in the next process, so that nobody notices but the request that is the reason.
 */
import { ChasquiError } from '../../errors.js';
import type { NativeConstraint, NativeGrammar, NativeRenderedPrompt, NativeTokenLists } from '../../native/addon.js';
import type { PreparationCore } from '../core.js';
import type { EngineState } from '../engine.js';
import type { LoadOptions } from '../load-options.js';
import { failedStart, type RestartEvent } from './restart-event.js';
import { type EngineEnd, type StartedPreparation, type StartPreparation, startPreparation } from './start-child.js';
import { type Suspect, Suspects } from './suspects.js';
import { Watchdog } from './watchdog.js';

export interface PreparationHooks {
  /** Aborts the first start. */
  signal?: AbortSignal | undefined;
  coreDumps?: boolean | undefined;
  onRestart?: ((event: RestartEvent) => void) | undefined;
  /** Told when `state` has changed, unless it was closed. */
  onState?: (() => void) | undefined;
}

const LOAD_TIMEOUT_MS = 10 * 60_000;
/** How long the process may give no sign of life while something is asked of it. */
const SILENCE_MS = 10_000;
const WATCH_MS = 1000;
/** Of whatever is prepared. */
const MAX_STARTS = 2;
const MAX_DELAY_MS = 30_000;

/** Something that is being prepared, or waits for it. */
interface Ask {
  owner: number;
  suspect: Suspect;
  /** `seen`: the process has it, and showed a sign of life since. */
  state: 'waiting' | 'entered' | 'seen' | 'cancelled';
}

export class SupervisedPreparation implements PreparationCore {
  readonly #start: () => Promise<StartedPreparation>;
  readonly #hooks: PreparationHooks;
  readonly #suspects = new Suspects('What prepares requests');
  readonly #asks = new Set<Ask>();
  readonly #closing = new AbortController();
  /** The process that runs or will; rejects when its start failed, until the next start. */
  #current: Promise<StartedPreparation>;
  #pid: number | null = null;
  /** Whether something was asked of it. */
  #isUsed = false;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed: Promise<void> | null = null;

  private constructor(
    start: (signal: AbortSignal | undefined) => Promise<StartedPreparation>,
    hooks: PreparationHooks,
    first: StartedPreparation,
  ) {
    this.#start = () => start(this.#closing.signal);
    this.#hooks = hooks;
    this.#current = Promise.resolve(first);
    this.#watch(first);
  }

  /** Rejects as `loadModel` does. */
  static async open(
    path: string,
    options: LoadOptions,
    hooks: PreparationHooks = {},
    start: StartPreparation = startPreparation,
  ): Promise<SupervisedPreparation> {
    const { coreDumps } = hooks;
    const startWith = (signal: AbortSignal | undefined) =>
      start(path, options, { coreDumps, signal, loadTimeoutMs: LOAD_TIMEOUT_MS });
    return new SupervisedPreparation(startWith, hooks, await startWith(hooks.signal));
  }

  /** `restarting` only when it takes more than one start. */
  get state(): EngineState {
    if (this.#closed !== null) return 'closed';
    return this.#failures > 0 ? 'restarting' : 'ready';
  }

  /** Of the process that prepares now; `null` while there is none. */
  get pid(): number | null {
    return this.#pid;
  }

  render(requestJson: string, owner: number): Promise<NativeRenderedPrompt> {
    return this.#ask(requestJson, owner, (core) => core.render(requestJson, owner));
  }

  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean, owner: number): Promise<Int32Array> {
    return this.#ask(text, owner, (core) => core.tokenize(text, addSpecial, parseSpecial, owner));
  }

  tokenizeTextPrompt(prompt: string, contextLength: number, owner: number): Promise<Int32Array> {
    return this.#ask(prompt, owner, (core) => core.tokenizeTextPrompt(prompt, contextLength, owner));
  }

  tokenizeInfill(prefix: string, suffix: string, owner: number): Promise<Int32Array> {
    return this.#ask([prefix, suffix], owner, (core) => core.tokenizeInfill(prefix, suffix, owner));
  }

  tokenizeInputs(texts: readonly string[], most: number, owner: number): Promise<NativeTokenLists> {
    return this.#ask(texts, owner, (core) => core.tokenizeInputs(texts, most, owner));
  }

  tokenizePairs(query: string, documents: readonly string[], most: number, owner: number): Promise<NativeTokenLists> {
    return this.#ask([query, documents], owner, (core) => core.tokenizePairs(query, documents, most, owner));
  }

  pieces(tokens: Int32Array, owner: number): Promise<{ bytes: Uint8Array; ends: Int32Array }> {
    return this.#ask(tokens, owner, (core) => core.pieces(tokens, owner));
  }

  compileGrammar(grammar: NativeGrammar, copies: number, owner: number): Promise<NativeConstraint[]> {
    return this.#ask(grammar, owner, (core) => core.compileGrammar(grammar, copies, owner));
  }

  /** Whoever asked does not wait for it any more. */
  cancelPreparation(owner: number): void {
    for (const ask of this.#asks) {
      if (ask.owner !== owner) continue;
      ask.state = 'cancelled';
      ask.suspect.end(false);
    }
    this.#current.then(({ core }) => core.cancelPreparation(owner)).catch(() => {});
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#closing.abort(closed());
    const child = await this.#current.catch(() => null);
    await child?.core.close();
  }

  async #ask<T>(request: unknown, owner: number, ask: (core: PreparationCore) => Promise<T>): Promise<T> {
    const asked: Ask = { owner, suspect: this.#suspects.begin(request), state: 'waiting' };
    this.#asks.add(asked);
    try {
      for (let starts = 1; ; starts += 1) {
        try {
          const answer = await ask(await this.#coreFor(asked, starts));
          asked.suspect.end(true);
          return answer;
        } catch (error) {
          asked.suspect.end(false);
          if (asked.state === 'cancelled' || !isRestart(error)) throw error;
          // Throws what is permanent, when the request was there at two ends.
          asked.suspect = this.#suspects.begin(request);
          asked.state = 'waiting';
          if (starts === MAX_STARTS) throw error;
        }
      }
    } finally {
      asked.suspect.end(false);
      this.#asks.delete(asked);
    }
  }

  /** What is on trial gets its process last, for the one that was on trial before it may have ended that. */
  async #coreFor(asked: Ask, starts: number): Promise<PreparationCore> {
    if (starts > 1 && this.#suspects.isKnown(asked.suspect)) await this.#suspects.trial(asked.suspect);
    if (this.#closed !== null) throw closed();
    const { core } = await this.#current;
    if (asked.state === 'cancelled') throw new Error('The request was cancelled.');
    asked.state = 'entered';
    asked.suspect.entered();
    this.#isUsed = true;
    return core;
  }

  #watch(child: StartedPreparation): void {
    this.#pid = child.pid ?? null;
    const watchdog = new Watchdog(SILENCE_MS);
    let seen = child.beat.at;
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      const { at } = child.beat;
      if (at !== seen) this.#endTrials();
      const hangs = watchdog.check(null, at !== seen || !child.core.waits, now - last);
      seen = at;
      last = now;
      if (hangs === null) return;
      clearInterval(timer);
      child.abort(hangs);
    }, WATCH_MS);
    timer.unref();
    void child.ended.then((end) => {
      clearInterval(timer);
      this.#ended(child, end);
    });
  }

  /** A process that still lives after a second or two has passed the trial, whatever goes on there. */
  #endTrials(): void {
    for (const ask of this.#asks) {
      if (ask.state === 'seen') ask.suspect.passed();
      else if (ask.state === 'entered') ask.state = 'seen';
    }
  }

  #ended(child: StartedPreparation, end: EngineEnd): void {
    this.#pid = null;
    if (this.#closed !== null) {
      child.core.end(closed());
      return;
    }
    // What occupied it for ever has been answered by now, and nothing that is asked of it was the reason.
    if (end.cause !== 'killed' && end.cause !== 'stuck') this.#suspects.ended(end.message);
    // One that ends by itself before it has done anything would do so again and again.
    if (this.#isUsed || end.cause === 'killed') this.#replace(end);
    else this.#tryLater(end);
    // Last, so that whatever is asked again asks the next process.
    child.core.end(restarting(end.message));
  }

  #replace(end: EngineEnd): void {
    this.#hooks.onRestart?.({ process: 'preparation', end, afterMs: 0 });
    this.#startNext();
  }

  #startNext(): void {
    this.#current = this.#startAgain();
    this.#current.catch(() => {});
  }

  async #startAgain(): Promise<StartedPreparation> {
    this.#isUsed = false;
    let child: StartedPreparation;
    try {
      child = await this.#start();
    } catch (error) {
      if (this.#closed !== null) throw error;
      const end = failedStart(error);
      this.#tryLater(end);
      throw restarting(end.message);
    }
    this.#watch(child);
    this.#setFailures(0);
    return child;
  }

  /** Until then whatever is asked is told to come again. */
  #tryLater(end: EngineEnd): void {
    const afterMs = Math.min(1000 * 2 ** this.#failures, MAX_DELAY_MS);
    this.#setFailures(this.#failures + 1);
    this.#hooks.onRestart?.({ process: 'preparation', end, afterMs });
    const waits = Promise.reject(restarting(end.message));
    waits.catch(() => {});
    this.#current = waits;
    this.#timer = setTimeout(() => this.#startNext(), afterMs);
    this.#timer.unref();
  }

  #setFailures(count: number): void {
    const before = this.state;
    this.#failures = count;
    if (this.#closed === null && this.state !== before) this.#hooks.onState?.();
  }
}

function restarting(why: string): ChasquiError {
  const error = new ChasquiError('engine_restarting', `What prepares requests ended: ${why}. Try again in a moment.`);
  error.retryAfterSeconds = 1;
  return error;
}

function closed(): ChasquiError {
  return new ChasquiError('engine_closed', 'The engine was closed.');
}

function isRestart(error: unknown): boolean {
  return error instanceof ChasquiError && error.code === 'engine_restarting';
}
