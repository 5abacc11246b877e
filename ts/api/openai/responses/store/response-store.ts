/**
 * Stored responses and conversations, each visible only to its owner. A store is bounded in age, bytes and number. If it is
 * full, it evicts the least recently used entries of the owner with the most entries.
 */
import type { StoredBatch } from '../../../shared/batch-schema.js';
import type { FileObject } from '../../../shared/file-schema.js';
import type { Conversation } from '../conversations-schema.js';
import type { StoredItem } from '../input-schema.js';
import type { ResponseObject } from '../object-schema.js';

export interface StoredResponse {
  response: ResponseObject;
  /** The items of the request, without those of earlier responses. */
  input: readonly StoredItem[];
}

export interface StoredConversation {
  conversation: Conversation;
  items: readonly StoredItem[];
}

/** One turn of a message thread. The earlier turns are found by `previous`. */
export interface StoredThread {
  thread: {
    /** The id of the reply. */
    id: string;
    previous: string | null;
    /** Number of turns of the thread, and their length as JSON in UTF-16 units. */
    turns: number;
    length: number;
    /** Fields that only the first turn has. */
    fields: object;
  };
  /** The messages of the request and the reply. */
  messages: readonly object[];
}

export interface StoredFile {
  file: FileObject;
}

/** Separate from the file, because lists do not read contents. */
export interface StoredData {
  data: { id: string; base64: string };
}

export type Stored = StoredResponse | StoredConversation | StoredThread | StoredFile | StoredData | StoredBatch;

/** Ids of different kinds are never the same. */
export interface ResponseStore {
  /** Replaces the entry with the same id. */
  put(owner: string, stored: Stored): void;
  /** An entry of any kind. */
  read(owner: string, id: string): Stored | null;
  /** Entries with this prefix of the id, in any order. */
  list(owner: string, prefix: string): Stored[];
  /**
   * Replaces a conversation atomically with the result of `change`. Returns the result, or null if there is no such
   * conversation.
   */
  change(
    owner: string,
    id: string,
    change: (stored: StoredConversation) => StoredConversation,
  ): StoredConversation | null;
  /**
   * Returns the id of the latest response with this item in its input or output, or else of the last conversation with
   * it.
   */
  holderOf(owner: string, itemId: string): string | null;
  /** Returns false if there is no entry with this id. */
  delete(owner: string, id: string): boolean;
  close(): void;
}

export interface StoreLimits {
  /** Conversations, turns of threads and files count as well. */
  maxResponses: number;
  /** Limit of all stored JSON, at two bytes per character. */
  maxBytes: number;
  maxAgeMs: number;
}

const MIB = 2 ** 20;
/** OpenAI stores responses for the same time. */
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1000;

export const MEMORY_LIMITS: StoreLimits = { maxResponses: 10_000, maxBytes: 128 * MIB, maxAgeMs: MAX_AGE_MS };
export const DISK_LIMITS: StoreLimits = { maxResponses: 100_000, maxBytes: 1024 * MIB, maxAgeMs: MAX_AGE_MS };

/** Responses to longer inputs are not stored. Length as JSON, in UTF-16 units. */
export const MAX_STORED_INPUT = 8 * MIB;

export function idOf(stored: Stored): string {
  if ('thread' in stored) return stored.thread.id;
  if ('file' in stored) return stored.file.id;
  if ('data' in stored) return stored.data.id;
  if ('batch' in stored) return stored.batch.id;
  return 'response' in stored ? stored.response.id : stored.conversation.id;
}

/** The ids of all items of an entry, for searches. */
export function itemIdsOf(stored: Stored): string[] {
  return itemsOf(stored).map(({ id }) => id);
}

/** All items of an entry, in order. */
export function itemsOf(stored: Stored): readonly StoredItem[] {
  if (!('response' in stored || 'items' in stored)) return [];
  // Output items are valid input items.
  return 'response' in stored ? [...stored.input, ...(stored.response.output as StoredItem[])] : stored.items;
}

export function asResponse(stored: Stored | null): StoredResponse | null {
  return stored !== null && 'response' in stored ? stored : null;
}

export function asConversation(stored: Stored | null): StoredConversation | null {
  return stored !== null && 'conversation' in stored ? stored : null;
}
