/** An engine that has its processes played by a test: what they compute, and how they end. */

import { untilAborted } from '../../ts/engine/calls.js';
import type { RestartEvent } from '../../ts/engine/child/restart-event.js';
import type { EngineEnd, StartChild, StartedChild, StartPreparation } from '../../ts/engine/child/start-child.js';
import { SupervisedEngine, type SupervisorHooks } from '../../ts/engine/child/supervised-engine.js';
import type { CoreJob } from '../../ts/engine/core.js';
import type { LoadOptions } from '../../ts/engine/load-options.js';
import { deliver } from '../../ts/engine/token-stream.js';
import { FIELDS_PER_RECORD, RECORD_FLAGS } from '../../ts/native/addon.js';
import { FakeEngine, finishOf } from './fake-engine.js';

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const { model: info } = new FakeEngine();

export const CRASH: EngineEnd = {
  cause: 'crashed',
  message: 'it was ended by SIGSEGV',
  said: '/home/somebody/llama.cpp:12: GGML_ASSERT(false) failed',
  signal: 'SIGSEGV',
  exitCode: null,
};
export const KILL: EngineEnd = { ...CRASH, cause: 'killed', said: '', signal: 'SIGKILL' };
const CLOSED: EngineEnd = { ...CRASH, cause: 'closed', said: '', signal: null, exitCode: 0 };

/** A process: it computes what the test says. */
export class FakeChild {
  readonly submitted: CoreJob[] = [];
  readonly cancelled: number[] = [];
  closed = 0;
  ready: () => void = () => {};
  failToLoad: (error: Error) => void = () => {};
  readonly loaded: Promise<void>;
  readonly ended: Promise<EngineEnd>;
  readonly options: LoadOptions;
  #end: (end: EngineEnd) => void = () => {};
  #waiting: ((error: unknown) => void)[] = [];
  readonly #streams: Parameters<StartChild>[2]['streams'];

  constructor(options: LoadOptions, hooks: Parameters<StartChild>[2]) {
    this.options = options;
    this.#streams = hooks.streams;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.loaded = new Promise((resolve, reject) => {
      this.ready = resolve;
      this.failToLoad = reject;
    });
    this.loaded.catch(() => {});
  }

  async die(end: EngineEnd): Promise<void> {
    this.#end(end);
    await turn();
  }

  async give(job: CoreJob | undefined, isLast = false): Promise<void> {
    const flags = isLast ? RECORD_FLAGS.finish : 0;
    const record = Int32Array.of(job?.id ?? -1, 1, 1, flags);
    deliver(this.#streams, record, FIELDS_PER_RECORD / 4, 'x', isLast ? [finishOf(1, 1)] : []);
    await turn();
  }

  started(placement: Partial<typeof info>): StartedChild {
    const core = {
      call: async (method: string) =>
        method === 'stats'
          ? { active: this.submitted.length }
          : new Promise<never>((_resolve, reject) => void this.#waiting.push(reject)),
      submit: (job: CoreJob) => void this.submitted.push(job),
      cancel: (id: number) => void this.cancelled.push(id),
      pause: () => {},
      end: (reason: unknown) => {
        for (const reject of this.#waiting.splice(0)) reject(reason);
      },
      close: async () => {
        this.closed += 1;
        await this.die(CLOSED);
      },
    } as unknown as StartedChild['core'];
    return {
      pid: 1,
      core,
      info: { ...info, ...placement },
      ended: this.ended,
      beat: { stats: null, at: 0 },
      abort: () => {},
    };
  }
}

/** A process that prepares whatever it is asked for, at once. */
export class FakePreparation {
  closed = 0;
  readonly #ended: Promise<EngineEnd>;
  die: (end: EngineEnd) => void = () => {};

  constructor() {
    this.#ended = new Promise((resolve) => {
      this.die = resolve;
    });
  }

  started(): Awaited<ReturnType<StartPreparation>> {
    const core = {
      waits: false,
      call: async (_method: string, [text = '']: string[]) => Int32Array.of(text.length),
      end: () => {},
      close: async () => {
        this.closed += 1;
        this.die(CLOSED);
      },
    } as unknown as Awaited<ReturnType<StartPreparation>>['core'];
    return { pid: 2, core, ended: this.#ended, beat: { stats: null, at: 0 }, abort: () => {} };
  }
}

export async function opened(hooks: SupervisorHooks = {}, placement: Partial<typeof info> = {}) {
  const children: FakeChild[] = [];
  const events: RestartEvent[] = [];
  const start: StartChild = async (_path, options, childHooks) => {
    const { signal } = childHooks;
    signal?.throwIfAborted();
    const child = new FakeChild(options, childHooks);
    children.push(child);
    // The first is there at once.
    if (children.length === 1) child.ready();
    await untilAborted(child.loaded, signal, () => {});
    return child.started(placement);
  };
  const preparations: FakePreparation[] = [];
  const startPreparation: StartPreparation = async () => {
    preparations.push(new FakePreparation());
    return (preparations.at(-1) as FakePreparation).started();
  };
  const onRestart = (event: RestartEvent) => void events.push(event);
  const starts = { engine: start, preparation: startPreparation };
  const engine = await SupervisedEngine.open('m.gguf', {}, { onRestart, ...hooks }, starts);
  const last = () => children.at(-1) as FakeChild;
  /** The running one ends, and the next is ready. */
  const restart = async (end: EngineEnd = KILL): Promise<void> => {
    await last().die(end);
    last().ready();
    await turn();
  };
  return { engine, children, preparations, events, last, restart };
}
