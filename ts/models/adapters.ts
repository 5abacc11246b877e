/** Adapters (LoRA) as models of their own, `base:name`, which are loaded and unloaded with their base model. */
import type { AdapterFile, AdapterUse } from '../engine/adapter-file.js';
import type { CallInput, CallName, CallResult } from '../engine/calls.js';
import {
  type AbortOptions,
  type Embeddings,
  Engine,
  type EngineState,
  type EngineStats,
  type ModelInfo,
  type Ranking,
  type RenderedPrompt,
  type SubmitOptions,
  type TokenStream,
} from '../engine/engine.js';
import type { Job } from '../engine/job.js';
import { ChasquiError } from '../errors.js';
import type { ModelEntry } from './pool.js';

export function adaptedId(modelId: string, adapter: string): string {
  return `${modelId}:${adapter}`;
}

/** Returns the model, then its adapters. `isOwn`: the name of the adapter alone is unique. */
export function withAdapters(
  entry: ModelEntry,
  adapters: readonly AdapterFile[],
  isOwn: (name: string) => boolean,
): ModelEntry[] {
  const adapted = adapters.map(({ name }) => ({
    ...entry,
    id: adaptedId(entry.id, name),
    aliases: isOwn(name) ? [name] : [],
    parent: entry.id,
    // Counted with the model.
    sizeBytes: null,
    memoryBytes: null,
    running: 0,
    waiting: 0,
    engine: entry.engine && new AdaptedEngine(entry.engine, name),
  }));
  return [entry, ...adapted];
}

/** An engine that applies an adapter to jobs by default. */
export class AdaptedEngine extends Engine {
  readonly #engine: Engine;
  readonly #name: string;

  constructor(engine: Engine, name: string) {
    super(engine.renderDefaults);
    this.#engine = engine;
    this.#name = name;
  }

  get model(): ModelInfo {
    const { model } = this.#engine;
    return { ...model, id: adaptedId(model.id, this.#name) };
  }

  get state(): EngineState {
    return this.#engine.state;
  }

  submit(given: Job | Promise<Job>, options?: SubmitOptions): TokenStream {
    const { adapters: known = [] } = this.#engine.model;
    const adapter = known.findIndex(({ name }) => name === this.#name);
    const own = [{ adapter, scale: known[adapter]?.scale ?? 1 }];
    const withOwn = (job: Job): Job => ({ ...job, adapters: job.adapters ?? own });
    return this.#engine.submit(given instanceof Promise ? given.then(withOwn) : withOwn(given), options);
  }

  call<M extends CallName>(method: M, args: CallInput<M>, on?: AbortOptions): Promise<CallResult<M>> {
    return this.#engine.call(method, args, on);
  }

  override renderChat(...args: Parameters<Engine['renderChat']>): Promise<RenderedPrompt> {
    return this.#engine.renderChat(...args);
  }

  override stats(): Promise<EngineStats> {
    return this.#engine.stats();
  }

  override async embed(): Promise<Embeddings> {
    throw this.#completesOnly();
  }

  override async rank(): Promise<Ranking> {
    throw this.#completesOnly();
  }

  useAdapters(adapters: readonly AdapterUse[]): void {
    this.#engine.useAdapters(adapters);
  }

  close(reason?: ChasquiError): Promise<void> {
    return this.#engine.close(reason);
  }

  #completesOnly(): ChasquiError {
    const { id } = this.#engine.model;
    return new ChasquiError(
      'model_not_capable',
      `Adapters work on completions only: \`${adaptedId(id, this.#name)}\` neither embeds nor ranks. Ask \`${id}\`.`,
      'model',
    );
  }
}
