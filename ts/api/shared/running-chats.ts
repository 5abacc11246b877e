/** Running streams of chats with `reasoning_control`, by the id in their chunks. */
import type { TokenStream } from '../../engine/engine.js';

interface RunningChat {
  /** As `ownerOf` returns it. */
  owner: string | null;
  /** One for each choice. */
  streams: readonly TokenStream[];
}

export class RunningChats {
  readonly #chats = new Map<string, RunningChat>();

  /** Returns a function that removes the completion. */
  add(id: string, chat: RunningChat): () => void {
    this.#chats.set(id, chat);
    return () => this.#chats.delete(id);
  }

  /** Returns `undefined` for completions of other owners, too. */
  find(id: string, owner: string | null): RunningChat | undefined {
    const chat = this.#chats.get(id);
    return chat?.owner === owner ? chat : undefined;
  }
}
