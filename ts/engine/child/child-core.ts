/** An `EngineCore`, or a `PreparationCore`, whose code is in another process: each call is a frame. */
import type { Socket } from 'node:net';
import type {
  NativeConstraint,
  NativeGrammar,
  NativeImage,
  NativeMedia,
  NativePrompt,
  NativeRenderedPrompt,
  NativeStats,
  NativeTokenLists,
} from '../../native/addon.js';
import { FIELDS_PER_RECORD, RECORD_FLAGS } from '../../native/addon.js';
import type { CoreJob, EngineCore, OnCoreEvents, PreparationCore } from '../core.js';
import type { WirePrompt } from './core-methods.js';
import { decodeValue, EventsDecoder, encodeFrame, FRAME, FrameReader } from './frames.js';
import type { WireError } from './messages.js';
import { fromWire } from './wire-error.js';

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export interface ProcessHooks {
  /** Ends the process. */
  close(): Promise<void>;
  /** It has written what cannot be read; nothing more is read from it. */
  onGarbled(what: string): void;
}

/** Stands for an object of the other process, which is released there when this one is collected. */
class Handle {
  constructor(readonly id: number) {}
}

export class ChildCore implements EngineCore, PreparationCore {
  readonly #pipe: Socket;
  readonly #process: ProcessHooks;
  readonly #calls = new Map<number, Waiting>();
  readonly #jobs = new Set<number>();
  /** By the ids of embeddings, those of their calls. */
  readonly #embeddings = new Map<number, number>();
  readonly #handles = new FinalizationRegistry<{ method: 'releaseMedia' | 'releaseConstraint'; id: number }>(
    ({ method, id }) => this.#tell(method, id),
  );
  #lastCall = 0;
  #ended: unknown;

  /** This process stays for as long as there is something that it waits for. */
  constructor(pipe: Socket, onEvents: OnCoreEvents, process: ProcessHooks) {
    this.#pipe = pipe;
    this.#process = process;
    const events = new EventsDecoder();
    // Once for each wake, so nothing is gathered in a list.
    const toldOfEnds: OnCoreEvents = (records, count, text, extras, parsed) => {
      this.#endJobs(records, count);
      onEvents(records, count, text, extras, parsed);
    };
    const reader = new FrameReader((kind, payload) => {
      if (kind === FRAME.events) events.decode(payload, toldOfEnds);
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
    // That the process has ended is told by itself (`end`).
    pipe.on('error', () => {});
    pipe.unref();
  }

  /** The process is gone: whatever was asked of it rejects with `reason`, now and from now on. */
  end(reason: unknown): void {
    this.#ended ??= reason;
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    this.#jobs.clear();
    this.#pipe.unref();
    for (const { reject } of calls) reject(reason);
  }

  /** Whether something was asked and is not answered yet. */
  get waits(): boolean {
    return this.#calls.size > 0;
  }

  render(requestJson: string, owner: number): Promise<NativeRenderedPrompt> {
    return this.#call('render', requestJson, owner);
  }

  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean, owner: number): Promise<Int32Array> {
    return this.#call('tokenize', text, addSpecial, parseSpecial, owner);
  }

  async tokenizePrompt(prompt: string, images: readonly NativeImage[], owner: number): Promise<NativePrompt> {
    const { tokens, media } = await this.#call<WirePrompt>('tokenizePrompt', prompt, images, owner);
    if (media === null) return { tokens, media };
    return { tokens, media: this.#handle('releaseMedia', media) as unknown as NativeMedia };
  }

  tokenizeTextPrompt(prompt: string, contextLength: number, owner: number): Promise<Int32Array> {
    return this.#call('tokenizeTextPrompt', prompt, contextLength, owner);
  }

  tokenizeInfill(prefix: string, suffix: string, owner: number): Promise<Int32Array> {
    return this.#call('tokenizeInfill', prefix, suffix, owner);
  }

  tokenizeInputs(texts: readonly string[], most: number, owner: number): Promise<NativeTokenLists> {
    return this.#call('tokenizeInputs', texts, most, owner);
  }

  tokenizePairs(query: string, documents: readonly string[], most: number, owner: number): Promise<NativeTokenLists> {
    return this.#call('tokenizePairs', query, documents, most, owner);
  }

  pieces(tokens: Int32Array, owner: number): Promise<{ bytes: Uint8Array; ends: Int32Array }> {
    return this.#call('pieces', tokens, owner);
  }

  embed(id: number, tokens: Int32Array, lengths: Int32Array): Promise<Float32Array> {
    const embedding = this.#call<Float32Array>('embed', id, tokens, lengths);
    this.#embeddings.set(id, this.#lastCall);
    return embedding.finally(() => this.#embeddings.delete(id));
  }

  /** The call is not answered any more. */
  cancelEmbed(id: number): void {
    this.#calls.delete(this.#embeddings.get(id) ?? 0);
    this.#embeddings.delete(id);
    this.#restWhenIdle();
    this.#tell('cancelEmbed', id);
  }

  async compileGrammar(grammar: NativeGrammar, copies: number, owner: number): Promise<NativeConstraint[]> {
    const ids = await this.#call<number[]>('compileGrammar', grammar, copies, owner);
    return ids.map((id) => this.#handle('releaseConstraint', id) as unknown as NativeConstraint);
  }

  cancelPreparation(owner: number): void {
    this.#tell('cancelPreparation', owner);
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

  stats(): Promise<NativeStats> {
    return this.#call('stats');
  }

  close(): Promise<void> {
    return this.#process.close();
  }

  #call<T>(method: string, ...args: unknown[]): Promise<T> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    this.#lastCall = (this.#lastCall % (2 ** 32 - 1)) + 1;
    const id = this.#lastCall;
    return new Promise((resolve, reject) => {
      this.#pipe.write(encodeFrame(FRAME.call, [id, method, ...args]));
      this.#calls.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.#pipe.ref();
    });
  }

  /** A call that is not answered. */
  #tell(method: string, ...args: unknown[]): void {
    if (this.#ended === undefined) this.#pipe.write(encodeFrame(FRAME.call, [0, method, ...args]));
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

  #handle(method: 'releaseMedia' | 'releaseConstraint', id: number): Handle {
    const handle = new Handle(id);
    this.#handles.register(handle, { method, id });
    return handle;
  }
}

function idOf(handle: NativeMedia | NativeConstraint | null): number | null {
  return handle === null ? null : (handle as unknown as Handle).id;
}
