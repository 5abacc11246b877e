/** Models for a pool that have no file, and the pool. */
import type { DeviceMemory } from '../../ts/engine/engine.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { MemoryBudget } from '../../ts/models/memory-budget.js';
import type { ManagedSource, OpenedModel, OpenHooks } from '../../ts/models/model-source.js';
import type { ManagedPoolOptions } from '../../ts/models/pool-options.js';
import { FakeEngine } from './fake-engine.js';

/** A model of 10 bytes. Its loads end when the test says so, or immediately. */
export class FakeSource implements ManagedSource {
  readonly aliases: readonly string[] = [];
  readonly sizeBytes = 8;
  readonly estimatedBytes = 10;
  readonly engines: FakeEngine[] = [];
  hooks: OpenHooks = {};
  modified = 0;
  /** GPUs that its engine reports. */
  gpus: readonly DeviceMemory[] = [];
  #loaded: (opened: OpenedModel) => void = () => undefined;
  #failed: (error: unknown) => void = () => undefined;

  constructor(
    readonly id: string,
    public isManual = false,
  ) {}

  modifiedMs(): number {
    return this.modified;
  }

  open(hooks: OpenHooks): Promise<OpenedModel> {
    this.hooks = hooks;
    this.engines.push(new FakeEngine({ model: { id: this.id, gpus: this.gpus } }));
    return new Promise((resolve, reject) => {
      [this.#loaded, this.#failed] = [resolve, reject];
      hooks.signal?.addEventListener('abort', () => reject(hooks.signal?.reason));
      if (!this.isManual) this.load();
    });
  }

  load(measured: number | null = null): void {
    this.#loaded({ engine: this.engines.at(-1) as FakeEngine, measure: () => measured });
  }

  fail(error: unknown): void {
    this.#failed(error);
  }
}

/** A model that loads this engine immediately. */
export function sourceOf(engine: FakeEngine): ManagedSource {
  const { id, sizeBytes } = engine.model;
  return { id, aliases: [], sizeBytes, estimatedBytes: 0, open: async () => ({ engine, measure: () => null }) };
}

export async function poolOf(sources: FakeSource[], changes: Partial<ManagedPoolOptions> = {}) {
  const failures: unknown[] = [];
  const pool = new ManagedPool(sources, {
    budget: MemoryBudget.of(20),
    onFailure: (_id, error) => failures.push(error),
    ...changes,
  });
  await pool.start([]);
  const states = () => pool.list().map(({ status }) => status);
  return { pool, failures, states };
}

const [A, B, C] = ['a', 'b', 'c'];
export const fakeSources = (isManual = false) =>
  [A, B, C].map((id) => new FakeSource(id as string, isManual)) as [FakeSource, FakeSource, FakeSource];
