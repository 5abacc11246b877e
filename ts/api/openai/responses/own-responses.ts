/** The stored responses and conversations of one owner: those of requests with the same API key. */
import type { AppContext } from '../../context.js';
import { type Caller, ownerOf } from '../../shared/owner.js';
import type { BackgroundResponses } from './background-responses.js';
import { Conversations } from './conversations.js';
import type { EventLog } from './event-log.js';
import type { ResponseObject } from './object-schema.js';
import { notFound, nothingStored, type OwnStore } from './resolve-input.js';
import { asConversation, asResponse, type ResponseStore, type StoredResponse } from './store/response-store.js';

export class OwnResponses {
  readonly owner: string;
  readonly #store: ResponseStore | null;

  constructor(
    request: Caller,
    { responses, isBehindGateway }: Pick<AppContext, 'responses' | 'isBehindGateway'>,
    private readonly background: BackgroundResponses,
  ) {
    const owner = ownerOf(request, isBehindGateway);
    this.owner = owner ?? '';
    this.#store = owner === null ? null : responses;
  }

  /** Null if storage is disabled. */
  get store(): OwnStore {
    if (this.#store === null) return null;
    return {
      get: (id) => this.#find(id),
      conversation: (id) => asConversation(this.#store?.read(this.owner, id) ?? null),
      holderOf: (id) => this.#store?.holderOf(this.owner, id) ?? null,
    };
  }

  /** Throws `unsupported_parameter` if storage is disabled. */
  get conversations(): Conversations {
    if (this.#store === null) throw nothingStored(null);
    return new Conversations(this.#store, this.owner);
  }

  get(id: string): StoredResponse {
    if (this.#store === null) throw nothingStored(null);
    const found = this.#find(id);
    if (found === null) throw notFound('response', id, null);
    return found;
  }

  put(stored: StoredResponse): void {
    this.#store?.put(this.owner, stored);
  }

  /** Deletes the response and cancels its computation. Throws `response_not_found`. */
  async delete(id: string): Promise<void> {
    this.get(id);
    await this.background.cancel(this.owner, id);
    this.background.forgetEvents(this.owner, id);
    this.#store?.delete(this.owner, id);
  }

  /** Returns null if they are not kept, or no longer. Throws `response_not_found`. */
  events(id: string): EventLog | null {
    this.get(id);
    return this.background.events(this.owner, id);
  }

  /** Resolves with the final state of the response. Throws `response_not_found`. */
  async cancel(id: string): Promise<ResponseObject> {
    this.get(id);
    await this.background.cancel(this.owner, id);
    return this.get(id).response;
  }

  /** Returns the current state of a running response. */
  #find(id: string): StoredResponse | null {
    const stored = asResponse(this.#store?.read(this.owner, id) ?? null);
    const running = this.background.get(this.owner, id);
    return stored && running ? { ...stored, response: running } : stored;
  }
}
