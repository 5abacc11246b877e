/** The server's end of the pipe to a child process: each call is a frame. */
import type { Socket } from 'node:net';
import {
  FIELDS_PER_RECORD,
  type NativeConstraint,
  type NativeMedia,
  type NativePrompt,
  RECORD_FLAGS,
} from '../../native/addon.js';
import { CALLS, type CallArgs, type CallName, type CallResult, type CallTarget, callTarget } from '../calls.js';
import type { CoreJob, EngineCore, OnCoreEvents } from '../core.js';
import type { AbortOptions } from '../engine-types.js';
import { decodeValue, EventsDecoder, encodeFrame, FRAME, FrameReader } from './frames.js';
import type { WireError } from './messages.js';
import { fromWire } from './wire-error.js';
import type { WirePrompt, WorkerMessages } from './worker-target.js';

interface Waiting {
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

export class ChildCore implements EngineCore, CallTarget {
  readonly #pipe: Socket;
  readonly #process: ProcessHooks;
  readonly #calls = new Map<number, Waiting>();
  readonly #jobs = new Set<number>();
  readonly #handles = new FinalizationRegistry<WorkerMessages['release']>((released) =>
    this.#tell('release', ...released),
  );
  #lastCall = 0;
  #ended: unknown;

  /** Pending calls and jobs keep this process alive. */
  constructor(pipe: Socket, onEvents: OnCoreEvents, process: ProcessHooks) {
    this.#pipe = pipe;
    this.#process = process;
    const events = new EventsDecoder();
    // No rest parameters: this runs once for each wake.
    const endJobsFirst: OnCoreEvents = (records, count, text, extras, parsed) => {
      this.#endJobs(records, count);
      onEvents(records, count, text, extras, parsed);
    };
    const reader = new FrameReader((kind, payload) => {
      if (kind === FRAME.events) events.decode(payload, endJobsFirst);
      else this.#settle(kind, decodeValue(payload) as [number, unknown]);
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
    this.#jobs.clear();
    this.#pipe.unref();
    for (const { reject } of calls) reject(reason);
  }

  /** Whether calls are pending. */
  get waits(): boolean {
    return this.#calls.size > 0;
  }

  call<M extends CallName>(method: M, args: CallArgs<M>, on?: AbortOptions): Promise<CallResult<M>> {
    return callTarget(this, method, args, on);
  }

  async run<M extends CallName>(method: M, args: CallArgs<M>, owner: number): Promise<CallResult<M>> {
    const result = await this.#ask(method, args, owner);
    return (CALLS[method].handles === undefined ? result : this.#withHandles(result)) as CallResult<M>;
  }

  cancelOwner(owner: number): void {
    this.#tell('cancelOwner', owner);
  }

  submit(job: CoreJob, constraint: NativeConstraint | null): void {
    if (this.#ended !== undefined) throw this.#ended;
    this.#tell('submit', { ...job, media: idOf(job.media) }, idOf(constraint));
    this.#jobs.add(job.id);
    this.#pipe.ref();
  }

  pause(jobId: number, paused: boolean): void {
    this.#tell('pause', jobId, paused);
  }

  cancel(jobId: number): void {
    this.#jobs.delete(jobId);
    this.#restWhenIdle();
    this.#tell('cancel', jobId);
  }

  close(): Promise<void> {
    return this.#process.close();
  }

  #ask(method: CallName, args: readonly unknown[], owner: number): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    this.#lastCall = (this.#lastCall % (2 ** 32 - 1)) + 1;
    const id = this.#lastCall;
    return new Promise((resolve, reject) => {
      this.#pipe.write(encodeFrame(FRAME.call, [id, method, args, owner]));
      this.#calls.set(id, { resolve, reject });
      this.#pipe.ref();
    });
  }

  /** A message has no result. */
  #tell<M extends keyof WorkerMessages>(method: M, ...args: WorkerMessages[M]): void {
    if (this.#ended === undefined) this.#pipe.write(encodeFrame(FRAME.call, [0, method, args]));
  }

  #settle(kind: number, [id, value]: [number, unknown]): void {
    const waiting = this.#calls.get(id);
    this.#calls.delete(id);
    this.#restWhenIdle();
    if (kind === FRAME.error) waiting?.reject(fromWire(value as WireError));
    else waiting?.resolve(value);
  }

  #endJobs(records: Int32Array, count: number): void {
    for (let at = 0; at < count * FIELDS_PER_RECORD; at += FIELDS_PER_RECORD) {
      const flags = records[at + 3] as number;
      if (flags & (RECORD_FLAGS.finish | RECORD_FLAGS.failure)) this.#jobs.delete(records[at] as number);
    }
    this.#restWhenIdle();
  }

  #restWhenIdle(): void {
    if (this.#calls.size === 0 && this.#jobs.size === 0) this.#pipe.unref();
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

function idOf(handle: NativeMedia | NativeConstraint | null): number | null {
  return handle === null ? null : (handle as unknown as Handle).id;
}
