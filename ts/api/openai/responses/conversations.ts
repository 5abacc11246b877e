/** The conversations of one caller: stored lists of items that responses continue and extend. */
import { randomBytes } from 'node:crypto';
import { invalidValue } from '../../../errors.js';
import type { Conversation } from './conversations-schema.js';
import type { StoredItem } from './input-schema.js';
import { nowInSeconds } from './new-response.js';
import { notFound } from './resolve-input.js';
import {
  asConversation,
  MAX_STORED_INPUT,
  type ResponseStore,
  type StoredConversation,
} from './store/response-store.js';

const MAX_ITEMS = 8192;
/** Total length of all items as JSON, in UTF-16 units. */
const MAX_LENGTH = MAX_STORED_INPUT;
/** Items reserved for the output of a completion, which has an unknown length. */
const WITH_COMPLETION = 2;

/** Methods throw `response_not_found` for unknown conversations and items. */
export class Conversations {
  constructor(
    private readonly store: ResponseStore,
    private readonly owner: string,
  ) {}

  create(items: readonly StoredItem[], metadata: Record<string, string>): Conversation {
    const conversation: Conversation = {
      id: `conv_${randomBytes(16).toString('hex')}`,
      object: 'conversation',
      created_at: nowInSeconds(),
      metadata,
    };
    const all = withOwnIds([], items);
    refuseOverlong(all, 'items');
    this.store.put(this.owner, { conversation, items: all });
    return conversation;
  }

  get(id: string): StoredConversation {
    return asConversation(this.store.read(this.owner, id)) ?? notHere(id);
  }

  item(id: string, itemId: string): StoredItem {
    return this.get(id).items.find((item) => item.id === itemId) ?? noSuchItem(itemId);
  }

  setMetadata(id: string, metadata: Record<string, string>): Conversation {
    return this.#change(id, ({ conversation, items }) => ({ conversation: { ...conversation, metadata }, items }))
      .conversation;
  }

  delete(id: string): void {
    this.get(id);
    this.store.delete(this.owner, id);
  }

  /** Returns the items as stored. Throws `invalid_value` if the conversation would become too long. */
  add(id: string, items: readonly StoredItem[]): readonly StoredItem[] {
    let added: readonly StoredItem[] = [];
    this.#change(id, (stored) => {
      added = withOwnIds(stored.items, items);
      const all = [...stored.items, ...added];
      refuseOverlong(all, 'items');
      return { ...stored, items: all };
    });
    return added;
  }

  /** Appends the input and the output of a response. Does nothing if the conversation was deleted meanwhile. */
  addTurn(id: string, items: readonly StoredItem[]): void {
    this.store.change(this.owner, id, (stored) => {
      const all = [...stored.items, ...withOwnIds(stored.items, items)];
      refuseOverlong(all, 'conversation', WITH_COMPLETION);
      return { ...stored, items: all };
    });
  }

  /** Throws `invalid_value` if the items of the conversation and the request together exceed its limit. */
  static refuseFull(items: readonly object[]): void {
    refuseOverlong(items, 'conversation');
  }

  remove(id: string, itemId: string): Conversation {
    return this.#change(id, (stored) => {
      const items = stored.items.filter((item) => item.id !== itemId);
      if (items.length === stored.items.length) noSuchItem(itemId);
      return { ...stored, items };
    }).conversation;
  }

  #change(id: string, change: (stored: StoredConversation) => StoredConversation): StoredConversation {
    return this.store.change(this.owner, id, change) ?? notHere(id);
  }
}

/** Ids are unique, so a second item with the same id gets a new one. Messages get a status, too. */
function withOwnIds(earlier: readonly StoredItem[], items: readonly StoredItem[]): StoredItem[] {
  const taken = new Set(earlier.map(({ id }) => id));
  return items.map((item) => {
    const id = taken.has(item.id)
      ? `${item.id.replace(/_.*$/s, '').slice(0, 8)}_${randomBytes(16).toString('hex')}`
      : item.id;
    taken.add(id);
    return item.type === 'message' ? { status: 'completed', ...item, id } : { ...item, id };
  });
}

function refuseOverlong(items: readonly object[], param: string, times = 1): void {
  const { length } = JSON.stringify(items);
  if (items.length <= times * MAX_ITEMS && length <= times * MAX_LENGTH) return;
  const limits = `${MAX_ITEMS} items and ${MAX_LENGTH / 2 ** 20} Mi characters of JSON`;
  throw invalidValue(`The conversation would exceed ${limits}. Start another one, or delete items.`, param);
}

function notHere(id: string): never {
  throw notFound('conversation', id, null);
}

function noSuchItem(id: string): never {
  throw notFound('item', id, null);
}
