/**
 * Responses that can be asked for again, each by who sends the same key as its request had. A store is bounded: in time,
 * in bytes and in number. Where it is full, the response that was used longest ago goes, of whoever has most there.
 */
import type { StoredItem } from '../../schemas/response-input.js';
import type { ResponseObject } from '../../schemas/response-object.js';

export interface StoredResponse {
  response: ResponseObject;
  /** The items of its request, without those of the response that it goes on from. */
  input: readonly StoredItem[];
}

export interface ResponseStore {
  /** Replaces what has the same id. */
  put(owner: string, stored: StoredResponse): void;
  get(owner: string, id: string): StoredResponse | null;
  /** The id of the response that has this item in its input or its output. */
  holderOf(owner: string, itemId: string): string | null;
  /** False where there is no such response. */
  delete(owner: string, id: string): boolean;
  close(): void;
}

export interface StoreLimits {
  maxResponses: number;
  /** Of the responses as JSON, at two bytes a character. */
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

/** The ids of all items that a response can be found by. */
export function itemIdsOf({ input, response }: StoredResponse): string[] {
  return [...input, ...response.output].map(({ id }) => id);
}
