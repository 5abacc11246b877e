/** Events of the app, for open pages and waiting commands. */
import type { AppEvents } from './api-types.js';

export type AppEvent = { [Name in keyof AppEvents]: { name: Name; data: AppEvents[Name] } }[keyof AppEvents];
type Listener = (event: AppEvent) => void;

export class EventBus {
  readonly #listeners = new Set<Listener>();

  /** Lets producers skip work without watchers. */
  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  publish<Name extends keyof AppEvents>(name: Name, data: AppEvents[Name]): void {
    for (const listener of this.#listeners) listener({ name, data } as AppEvent);
  }

  /** Returns a function that unsubscribes. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
