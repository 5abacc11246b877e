/** Starts worker and preparation processes, and reports how they ended. */
import type { Socket } from 'node:net';
import { ChasquiError, type ErrorCode } from '../../errors.js';
import type { NativeStats } from '../../native/addon.js';
import { describeExit, type ForkedScript, START_LIMIT_MS } from '../../process/fork-script.js';
import { withRemedy } from '../../process/gpu-remedies.js';
import { HangWatch } from '../../process/hang-watch.js';
import { isOutOfFiles, outOfFiles } from '../../process/open-files.js';
import { countOutOfMemoryKills } from '../../process/out-of-memory.js';
import type { Caller } from '../calls.js';
import type { EngineCore } from '../core.js';
import type { ModelInfo } from '../engine-types.js';
import { completeLoadOptions, type LoadOptions } from '../load-options.js';
import type { JobStream } from '../token-stream.js';
import { ChildCore } from './child-core.js';
import { type ChildScript, forkChild, PIPE_FD } from './child-scripts.js';
import { LoadLimitExceeded, watchLoad } from './load-limits.js';
import { type ControlMessage, EXIT_CODES, type StateMessage } from './messages.js';
import { fromWire } from './wire-error.js';

const BEAT_MS = 500;
/** How long loading may give no sign of progress. */
export const LOAD_TIMEOUT_MS = 10 * 60_000;
/** For the current step and for freeing the model; then the process is killed. A server waits longer than this. */
export const CLOSE_LIMIT_MS = 5000;
/** After SIGABRT, which makes the process report its position. */
const ABORT_LIMIT_MS = 2000;

export interface EngineEnd {
  /** `killed`: by a signal from outside; `stuck`: by itself, after it had reported the request that blocked it. */
  cause: 'closed' | 'crashed' | 'hung' | 'out_of_memory' | 'killed' | 'stuck';
  /** May be shown to clients. */
  message: string;
  /** The last line on its standard error, which may contain paths; or empty. */
  said: string;
  signal: NodeJS.Signals | null;
  exitCode: number | null;
}

export interface StartedProcess {
  readonly pid: number | undefined;
  readonly ended: Promise<EngineEnd>;
  /** The latest heartbeat; `at` is by `performance.now()`. */
  readonly beat: { stats: NativeStats | null; at: number };
  /** Ends a process that hangs: by SIGABRT, so that it reports its position, then by SIGKILL. */
  abort(why: string): void;
}

export interface StartedChild extends StartedProcess {
  readonly core: EngineCore & Pick<ChildCore, 'end'>;
  readonly info: ModelInfo;
}

export interface StartedPreparation extends StartedProcess {
  readonly core: Caller & Pick<ChildCore, 'end' | 'waits' | 'close'>;
}

export interface ChildHooks {
  /** Get the events of their jobs. */
  streams: ReadonlyMap<number, JobStream>;
  onProgress?: ((fraction: number) => void) | undefined;
  signal?: AbortSignal | undefined;
  /** Whether a crash may leave a core file; default false. */
  coreDumps?: boolean | undefined;
  /** How long loading may give no sign of progress. */
  loadTimeoutMs: number;
  /** See `watchLoad`; default: no limit. */
  loadMemoryMiB?: number;
}

export type StartChild = (path: string, options: LoadOptions, hooks: ChildHooks) => Promise<StartedChild>;
export type StartPreparation = (
  path: string,
  options: LoadOptions,
  hooks: Omit<ChildHooks, 'streams' | 'onProgress'>,
) => Promise<StartedPreparation>;

const REASONS: Partial<Record<EngineEnd['cause'], string>> = {
  out_of_memory: 'memory ran out',
  stuck: 'a preparation did not end',
};

/** Signals of a crash. */
const FAULTS: readonly (NodeJS.Signals | null)[] = [
  'SIGABRT',
  'SIGSEGV',
  'SIGBUS',
  'SIGILL',
  'SIGFPE',
  'SIGTRAP',
  'SIGSYS',
];

/** Rejects as `loadModel` does, and when the process ends while it loads: see `codeOf`. */
export const startChild: StartChild = async (path, options, hooks) => {
  const { child, info } = await start('main', path, options, hooks);
  if (info === null) throw new ChasquiError('model_load_failed', 'The worker process did not describe its model.');
  return { pid: child.pid, core: child.core, info, ended: child.ended, beat: child.beat, abort: child.abort };
};

/** Rejects with the same errors. */
export const startPreparation: StartPreparation = async (path, options, hooks) => {
  const loadMemoryMiB = completeLoadOptions(options).prepareMemoryMiB;
  const { child } = await start('preparation-main', path, options, { ...hooks, streams: new Map(), loadMemoryMiB });
  return { pid: child.pid, core: child.core, ended: child.ended, beat: child.beat, abort: child.abort };
};

async function start(script: ChildScript, path: string, options: LoadOptions, hooks: ChildHooks) {
  const { signal } = hooks;
  signal?.throwIfAborted();
  const child = fork(script, hooks);
  const onAbort = () => {
    if (signal?.reason instanceof LoadLimitExceeded) child.abort('its preparation process exceeded a limit');
    else void child.close();
  };
  signal?.addEventListener('abort', onAbort);
  try {
    const info = await child.open(path, options);
    signal?.throwIfAborted();
    return { child, info };
  } catch (error) {
    void child.close();
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

function fork(script: ChildScript, hooks: ChildHooks): ModelProcess {
  try {
    return new ModelProcess(script, hooks);
  } catch (error) {
    if (isOutOfFiles(error)) throw outOfFiles('No process could be started', error);
    throw new ChasquiError('model_load_failed', `No process could be started: ${(error as Error).message}.`);
  }
}

class ModelProcess {
  readonly core: ChildCore;
  readonly ended: Promise<EngineEnd>;
  readonly beat: StartedChild['beat'] = { stats: null, at: performance.now() };
  readonly #forked: ForkedScript;
  readonly #killsBefore = countOutOfMemoryKills();
  #hung: string | null = null;
  #closing: Promise<void> | null = null;

  constructor(
    script: ChildScript,
    private readonly hooks: ChildHooks,
  ) {
    this.#forked = forkChild(script);
    const { child } = this.#forked;
    this.core = new ChildCore(child.stdio[PIPE_FD] as Socket, hooks.streams, {
      close: () => this.close(),
      onGarbled: (what) => this.abort(`it wrote an invalid frame (${what})`),
    });
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => resolve(this.#toEnd(code, signal)));
      child.once('error', (error) => resolve(notStarted(error)));
    });
    // A child process does not keep the server alive.
    child.unref();
    child.channel?.unref();
    (child.stderr as Socket | null)?.unref();
  }

  get pid(): number | undefined {
    return this.#forked.child.pid;
  }

  open(path: string, options: LoadOptions): Promise<ModelInfo | null> {
    const { child } = this.#forked;
    const keepAlive = setInterval(() => {}, 2 ** 30);
    let stopWatching = () => {};
    return new Promise<ModelInfo | null>((resolve, reject) => {
      const watch = new HangWatch(child.pid, (limitMs) => {
        this.abort(`it gave no sign of life for ${limitMs / 1000} s while it loaded the model`);
      });
      watch.expectSign(START_LIMIT_MS);
      const { loadMemoryMiB } = this.hooks;
      if (loadMemoryMiB !== undefined) {
        stopWatching = watchLoad(child.pid, loadMemoryMiB, (error) => {
          child.kill('SIGKILL');
          reject(error);
        });
      }
      child.on('message', (message: StateMessage) => {
        if (message.state === 'beat') {
          this.beat.stats = message.stats;
          this.beat.at = performance.now();
          return;
        }
        watch.expectSign(this.hooks.loadTimeoutMs);
        if (message.state === 'started')
          this.#send({ do: 'open', path, options, beatMs: BEAT_MS, coreDumps: this.hooks.coreDumps ?? false });
        else if (message.state === 'loading') this.hooks.onProgress?.(message.fraction);
        else {
          watch.stop();
          this.beat.at = performance.now();
          if (message.state === 'ready') resolve(message.info);
          else reject(fromWire(message.failure));
        }
      });
      void this.ended.then(({ cause, message, said }) => {
        watch.stop();
        const how = said ? `${message} (${said})` : message;
        reject(new ChasquiError(codeOf(cause), `The process that loaded the model ended: ${how}.`));
      });
    }).finally(() => {
      clearInterval(keepAlive);
      stopWatching();
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  readonly abort = (why: string): void => {
    this.#hung ??= why;
    const { child } = this.#forked;
    child.kill('SIGABRT');
    const timer = setTimeout(() => child.kill('SIGKILL'), ABORT_LIMIT_MS);
    void this.ended.then(() => clearTimeout(timer));
  };

  async #close(): Promise<void> {
    const { child } = this.#forked;
    this.#send({ do: 'close' });
    const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_LIMIT_MS);
    // Until then the timer keeps this process alive.
    await this.ended;
    clearTimeout(timer);
  }

  #send(message: ControlMessage): void {
    // `ended` reports a process that is gone.
    if (this.#forked.child.connected) this.#forked.child.send(message, () => {});
  }

  #toEnd(exitCode: number | null, signal: NodeJS.Signals | null): EngineEnd {
    const described = describeExit(exitCode, signal);
    const cause = this.#causeOf(exitCode, signal);
    // The kill may have been in another cgroup.
    const isUncertain =
      cause === 'out_of_memory' &&
      exitCode !== EXIT_CODES.memory &&
      countOutOfMemoryKills().own === this.#killsBefore.own;
    const why = isUncertain ? 'perhaps memory ran out' : (this.#hung ?? REASONS[cause]);
    const message = why ? `${why}, and ${described}` : described;
    return { cause, message, said: withRemedy(this.#forked.lastWords()), signal, exitCode };
  }

  #causeOf(exitCode: number | null, signal: NodeJS.Signals | null): EngineEnd['cause'] {
    if (this.#hung !== null) return 'hung';
    if (this.#closing !== null) return 'closed';
    if (exitCode === EXIT_CODES.stuck) return 'stuck';
    if (exitCode === EXIT_CODES.memory) return 'out_of_memory';
    if (signal === null || FAULTS.includes(signal)) return 'crashed';
    const { own, machine } = countOutOfMemoryKills();
    const hasKilled = own !== this.#killsBefore.own || machine !== this.#killsBefore.machine;
    return signal === 'SIGKILL' && hasKilled ? 'out_of_memory' : 'killed';
  }
}

/** A crash during a load is likely to repeat. After any other end, a retry may succeed. */
function codeOf(cause: EngineEnd['cause']): ErrorCode {
  if (cause === 'out_of_memory') return cause;
  return cause === 'crashed' ? 'model_load_failed' : 'engine_failed';
}

function notStarted(error: Error): EngineEnd {
  return { cause: 'crashed', message: 'it could not be started', said: error.message, signal: null, exitCode: null };
}
