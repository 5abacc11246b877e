/** The stored state of a chat, as the page knows it. The first message gives it an id, maybe after another chat was opened. */
import type { Chat } from '../../api-types.js';

export type Header = Pick<Chat, 'title' | 'model' | 'systemPrompt' | 'settings' | 'current'>;

export class StoredChat {
  id: string | null = null;
  #readAt = 0;
  /** The versions that this page has written since. */
  readonly #written = new Set<number>();
  #header: Partial<Header> = {};
  #writing = 0;
  #writes: Promise<unknown> = Promise.resolve();

  constructor(chat: Chat | null) {
    if (chat) this.take(chat);
  }

  get isWriting(): boolean {
    return this.#writing > 0;
  }

  /** Settles after the writes so far. */
  get written(): Promise<unknown> {
    return this.#writes;
  }

  take(chat: Chat): void {
    this.id = chat.id;
    this.#readAt = chat.updatedAt;
    this.#written.clear();
    this.#header = headerOf(chat);
  }

  /** `fields` are those of the header that the app got. */
  wrote({ updatedAt }: { updatedAt: number }, fields: Partial<Header>): void {
    this.#written.add(updatedAt);
    Object.assign(this.#header, fields);
  }

  /** Whether another page has written this version, and it has not been read. */
  isNews(updatedAt: number): boolean {
    return updatedAt > this.#readAt && !this.#written.has(updatedAt);
  }

  /** Whether a reply with this version was sent before a newer one that this page has. */
  isOutdated(updatedAt: number): boolean {
    return updatedAt < Math.max(this.#readAt, ...this.#written);
  }

  /** Runs after earlier writes. */
  write<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#writing += 1;
    const written = this.#writes.then(work).finally(() => {
      this.#writing -= 1;
    });
    this.#writes = written.catch(() => undefined);
    return written;
  }

  /** The fields that differ from those that the app has. */
  changesOf(header: Header): Partial<Header> {
    const same = (name: keyof Header) => JSON.stringify(header[name]) === JSON.stringify(this.#header[name]);
    return Object.fromEntries(Object.entries(header).filter(([name]) => !same(name as keyof Header)));
  }
}

export function headerOf({ title, model, systemPrompt, settings, current }: Header): Header {
  return { title, model, systemPrompt, settings, current };
}
