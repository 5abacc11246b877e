/** The counts that an engine returned last. */
import type { Engine, EngineStats } from '../engine/engine.js';

/** The part of an engine that is needed here. */
export interface WatchedEngine extends Pick<Engine, 'stats'>, Partial<Pick<Engine, 'processes'>> {
  readonly model: Pick<Engine['model'], 'id'>;
}

export interface Snapshot {
  /** `null` until the engine has returned its counts, and after it has rejected. */
  stats: EngineStats | null;
  /** Whether the engine returned them for this reading. */
  isUp: boolean;
  /** The process of its own that the engine had then; `null`: none. */
  pid: number | null;
}

/**
 * An engine normally returns its counts at once, but a scrape must not depend on that: the engine may be in another
 * process, or stuck. While one call of `stats()` is open, there is no second one.
 */
export class EngineSnapshot {
  #stats: EngineStats | null = null;
  #pid: number | null = null;
  #asking: Promise<boolean> | null = null;

  constructor(private readonly engine: Omit<WatchedEngine, 'model'>) {}

  /** Resolves within `timeoutMs`, whatever the engine does. */
  async read(timeoutMs = 1000): Promise<Snapshot> {
    this.#asking ??= this.#ask();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, false);
    });
    const isUp = await Promise.race([this.#asking, late]);
    clearTimeout(timer);
    return { stats: this.#stats, isUp, pid: this.#pid };
  }

  async #ask(): Promise<boolean> {
    try {
      this.#stats = await this.engine.stats();
      this.#pid = this.engine.processes?.engine ?? null;
      return true;
    } catch {
      // An engine that is closed, has died or is being restarted has nothing that could be counted.
      this.#stats = null;
      this.#pid = null;
      return false;
    } finally {
      this.#asking = null;
    }
  }
}
