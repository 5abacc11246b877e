/** Tells listeners what becomes of models: whenever the state of one changes, or the percentage of its load. */
import type { ModelEntry, ModelEvent, ModelListener } from './pool.js';

export class ModelEvents {
  readonly #listeners = new Set<ModelListener>();
  /** What was told last of each model: nothing is told twice, so that a load is a hundred events at most. */
  readonly #last = new Map<string, string>();

  /** Returns what ends the watching. */
  watch(listener: ModelListener): () => void {
    const own: ModelListener = (event) => listener(event);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  tellRemoved(id: string): void {
    this.#last.delete(id);
    for (const listener of [...this.#listeners]) listener({ id, status: 'removed', progress: null, reason: null });
  }

  tell(entry: ModelEntry): void {
    const event = toModelEvent(entry);
    const { id, status, progress } = event;
    const news = `${status} ${progress === null ? '' : Math.floor(progress * 100)}`;
    if (this.#last.get(id) === news) return;
    this.#last.set(id, news);
    for (const listener of [...this.#listeners]) listener(event);
  }
}

export function toModelEvent({ id, status, progress, reason }: ModelEntry): ModelEvent {
  return { id, status, progress, reason };
}
