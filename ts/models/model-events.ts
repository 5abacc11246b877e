/** Notifies listeners when the state of a model changes, or the percentage of its load. */
import type { ModelEntry, ModelEvent, ModelListener } from './pool.js';

export class ModelEvents {
  readonly #listeners = new Set<ModelListener>();
  /** The last event of each model, to skip repetitions: a load has at most a hundred events. */
  readonly #last = new Map<string, string>();

  /** Returns a function that removes the listener. */
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
