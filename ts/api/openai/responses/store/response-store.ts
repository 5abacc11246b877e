/**
 * Responses and conversations that can be asked for again, each by who sends the same key as its request had. A store is
 * bounded: in time, in bytes and in number. Where it is full, what was used longest ago goes, of whoever has most there.
 */
import type { Conversation } from '../conversations-schema.js';
import type { StoredItem } from '../input-schema.js';
import type { ResponseObject } from '../object-schema.js';

export interface StoredResponse {
  response: ResponseObject;
  /** The items of its request, without those of the response that it goes on from. */
  input: readonly StoredItem[];
}

export interface StoredConversation {
  conversation: Conversation;
  items: readonly StoredItem[];
}

export type Stored = StoredResponse | StoredConversation;

/** Ids of responses and of conversations are never the same. */
export interface ResponseStore {
  /** Replaces what has the same id. */
  put(owner: string, stored: Stored): void;
  get(owner: string, id: string): StoredResponse | null;
  conversation(owner: string, id: string): StoredConversation | null;
  /**
   * Replaces a conversation by what `change` makes of it, before anybody else can change it. Returns that, or null where
   * there is no such conversation.
   */
  change(
    owner: string,
    id: string,
    change: (stored: StoredConversation) => StoredConversation,
  ): StoredConversation | null;
  /** The id of what has this item: the last response with it in its input or its output, or else the last conversation. */
  holderOf(owner: string, itemId: string): string | null;
  /** False where there is nothing with this id. */
  delete(owner: string, id: string): boolean;
  close(): void;
}

export interface StoreLimits {
  /** Conversations count as well. */
  maxResponses: number;
  /** Of all that is stored as JSON, at two bytes a character. */
  maxBytes: number;
  maxAgeMs: number;
}

const MIB = 2 ** 20;
/** OpenAI keeps responses for so long. */
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1000;

export const MEMORY_LIMITS: StoreLimits = { maxResponses: 10_000, maxBytes: 128 * MIB, maxAgeMs: MAX_AGE_MS };
export const DISK_LIMITS: StoreLimits = { maxResponses: 100_000, maxBytes: 1024 * MIB, maxAgeMs: MAX_AGE_MS };

/** A request whose input is longer than this as JSON has a response that is not stored. In UTF-16 units. */
export const MAX_STORED_INPUT = 8 * MIB;

export function idOf(stored: Stored): string {
  return 'response' in stored ? stored.response.id : stored.conversation.id;
}

/** The ids of all items that it can be found by. */
export function itemIdsOf(stored: Stored): string[] {
  return itemsOf(stored).map(({ id }) => id);
}

/** All items of it, in their order. */
export function itemsOf(stored: Stored): readonly StoredItem[] {
  // What a completion consists of can be sent back as it is.
  return 'response' in stored ? [...stored.input, ...(stored.response.output as StoredItem[])] : stored.items;
}

export function asResponse(stored: Stored | null): StoredResponse | null {
  return stored !== null && 'response' in stored ? stored : null;
}

export function asConversation(stored: Stored | null): StoredConversation | null {
  return stored !== null && 'conversation' in stored ? stored : null;
}
