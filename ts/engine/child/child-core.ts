/** The server's end of the pipe to a child process: each call is a frame. */
import type { Socket } from 'node:net';
import { deserialize } from 'node:v8';
import type { NativeConstraint, NativeMedia, NativePrompt } from '../../native/addon.js';
import { CALLS, type CallArgs, type CallName, type CallResult, OwnedCalls } from '../calls.js';
import type { CoreJob, EngineCore } from '../core.js';
import type { JobControl } from '../engine-types.js';
import { deliver, type JobStream } from '../token-stream.js';
import { EventsDecoder, encodeFrame, FRAME, FrameReader } from './frames.js';
import type { WireError } from './messages.js';
import { fromWire } from './wire-error.js';
import type { WirePrompt, WorkerMessages } from './worker-target.js';

interface Waiting {
  method: CallName;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export interface ProcessHooks {
  /** Ends the process. */
  close(): Promise<void>;
  /** The process wrote an invalid frame; the pipe is closed. */
  onGarbled(what: string): void;
}

/** A native object of the child process, which is released there when this one is collected. */
class Handle {
  constructor(readonly id: number) {}
}

export class ChildCore extends OwnedCalls implements EngineCore {
  readonly #calls = new Map<number, Waiting>();
  /** Keeps this process alive, also between the end of the pipe and `end`. */
  readonly #keepAlive = setInterval(() => {}, 2 ** 30).unref();
  readonly #handles = new FinalizationRegistry<WorkerMessages['release']>((released) =>
    this.#tell('release', ...released),
  );
  #lastCall = 0;
  #ended: unknown;

  /** Pending calls, and jobs with a stream, keep this process alive. `streams`: those of all jobs, until they end. */
  constructor(
    private readonly pipe: Socket,
    private readonly streams: ReadonlyMap<number, JobStream>,
    private readonly process: ProcessHooks,
  ) {
    super();
    const events = new EventsDecoder();
    const reader = new FrameReader((kind, payload) => {
      // No rest parameters: this runs once for each wake.
      if (kind === FRAME.events)
        events.decode(payload, (records, count, text, extras, parsed) =>
          deliver(streams, records, count, text, extras, parsed),
        );
      else this.#settle(kind, deserialize(payload) as [number, unknown]);
      this.#restWhenIdle();
    });
    pipe.on('data', (data: Buffer) => {
      try {
        reader.push(data);
      } catch (error) {
        pipe.destroy();
        process.onGarbled((error as Error).message);
      }
    });
    // `end` reports the end of the process.
    pipe.on('error', () => {});
    pipe.unref();
  }

  /** The process is gone: calls reject with `reason`, now and from now on. */
  end(reason: unknown): void {
    this.#ended ??= reason;
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    clearInterval(this.#keepAlive);
    for (const { reject } of calls) reject(reason);
  }

  get waits(): boolean {
    return this.#calls.size > 0;
  }

  run<M extends CallName>(method: M, args: CallArgs<M>, owner: number): Promise<CallResult<M>> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    this.#lastCall = (this.#lastCall % (2 ** 32 - 1)) + 1;
    const id = this.#lastCall;
    return new Promise((resolve, reject) => {
      this.pipe.write(encodeFrame(FRAME.call, [id, method, args, owner]));
      this.#calls.set(id, { method, resolve: resolve as Waiting['resolve'], reject });
      this.#keepAlive.ref();
    });
  }

  cancelOwner(owner: number): void {
    this.#tell('cancelOwner', owner);
  }

  submit(job: CoreJob, constraint: NativeConstraint | null): void {
    if (this.#ended !== undefined) throw this.#ended;
    const [media, limit] = [job.media, constraint] as unknown as [Handle | null, Handle | null];
    this.#tell('submit', { ...job, media: media?.id ?? null }, limit?.id ?? null);
    this.#keepAlive.ref();
  }

  control(jobId: number, action: JobControl): void {
    this.#tell('control', jobId, action);
  }

  pause(jobId: number, paused: boolean): void {
    this.#tell('pause', jobId, paused);
  }

  cancel(jobId: number): void {
    this.#restWhenIdle();
    this.#tell('cancel', jobId);
  }

  close(): Promise<void> {
    return this.process.close();
  }

  /** A message has no result. */
  #tell<M extends keyof WorkerMessages>(method: M, ...args: WorkerMessages[M]): void {
    if (this.#ended === undefined) this.pipe.write(encodeFrame(FRAME.call, [0, method, args]));
  }

  #settle(kind: number, [id, value]: [number, unknown]): void {
    const waiting = this.#calls.get(id);
    this.#calls.delete(id);
    if (kind === FRAME.error) waiting?.reject(fromWire(value as WireError));
    else waiting?.resolve(CALLS[waiting.method].handles === undefined ? value : this.#withHandles(value));
  }

  #restWhenIdle(): void {
    if (this.#calls.size === 0 && this.streams.size === 0) this.#keepAlive.unref();
  }

  #withHandles(result: unknown): NativePrompt | NativeConstraint[] {
    if (Array.isArray(result))
      return result.map((id) => this.#handle('constraints', id) as unknown as NativeConstraint);
    const { tokens, media } = result as WirePrompt;
    return { tokens, media: media === null ? null : (this.#handle('media', media) as unknown as NativeMedia) };
  }

  #handle(kind: 'media' | 'constraints', id: number): Handle {
    const handle = new Handle(id);
    this.#handles.register(handle, [kind, id]);
    return handle;
  }
}
