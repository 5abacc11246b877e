/**
 * A simulated runner: slots, steps that decode all slots and compute part of a prompt, and an LRU prefix cache. The costs are
 * those of `gpu-7b` in cost-model.cpp. The scheduler is simpler than the real one.
 */
import type { Conversation, Segment } from './traffic.js';

/** Cost of a pass: (tokens, milliseconds), interpolated and extrapolated linearly. */
const PASS_MS: readonly (readonly [number, number])[] = [
  [1, 6],
  [8, 6.5],
  [64, 9],
  [512, 102],
];
const MS_PER_STEP = 0.5;
const MS_PER_1K_DECODE = 0.13;
const MS_PER_1K_PROMPT = 0.015;
export const SLOTS = 32;
/** Prompt tokens per step. */
const SLICE = 448;
/** Capacity of slots and snapshots: 64 GiB at 128 KiB per token. */
const CACHE_TOKENS = 500_000;

function passMs(tokens: number): number {
  let at = 1;
  while (at < PASS_MS.length - 1 && tokens > (PASS_MS[at] as readonly [number, number])[0]) at += 1;
  const [fromTokens, fromMs] = PASS_MS[at - 1] as readonly [number, number];
  const [toTokens, toMs] = PASS_MS[at] as readonly [number, number];
  return fromMs + ((toMs - fromMs) * (tokens - fromTokens)) / (toTokens - fromTokens);
}

export const MS_PER_PROMPT_TOKEN = passMs(512) / 512;
export const MS_PER_DECODED_TOKEN = passMs(SLOTS) / SLOTS;

/** Minimum work of a conversation: every token that is not shared, computed once. */
export function idealMs({ turns }: Conversation): number {
  let total = 0;
  for (const { prompt, completion } of turns) {
    const asked = prompt.at(-1)?.tokens ?? 0;
    total += asked * MS_PER_PROMPT_TOKEN + completion.tokens * MS_PER_DECODED_TOKEN;
  }
  return total;
}

export interface Work {
  prompt: readonly Segment[];
  promptTokens: number;
  completion: Segment;
  /** Set when the runner starts the request. */
  cachedTokens: number;
  onFirst(now: number): void;
  onDone(now: number): void;
}

interface Prefill {
  work: Work;
  left: number;
}

export class Machine {
  readonly waiting: Work[] = [];
  readonly #prefills: Prefill[] = [];
  /** Decoding requests by the step in which they finish. */
  readonly #doneAt = new Map<number, Work[]>();
  readonly #cache = new Map<number, number>();
  #cachedTokens = 0;
  #decoding = 0;
  #context = 0;
  /** Tokens left to decode for requests with a slot. */
  #owed = 0;
  #step = 0;
  #busyMs = 0;
  computed = 0;

  get busyMs(): number {
    return this.#busyMs;
  }

  get running(): number {
    return this.waiting.length + this.#prefills.length + this.#decoding;
  }

  /**
   * Prompt tokens to compute until this prompt is complete: those that are neither in the cache nor computed by the requests
   * that wait before it.
   */
  tokensAhead(prompt: readonly Segment[]): { others: number; own: number } {
    const coming = new Set<number>();
    const add = (segments: readonly Segment[]): number => {
      let tokens = 0;
      for (const { id, tokens: more } of segments) {
        if (this.#cache.has(id) || coming.has(id)) continue;
        coming.add(id);
        tokens += more;
      }
      return tokens;
    };
    let others = this.#prefills.reduce((sum, { left }) => sum + left, 0);
    for (const work of this.waiting) others += add(work.prompt);
    return { others, own: add(prompt) };
  }

  /** Tokens left to decode for all its requests. */
  get decodesAhead(): number {
    return this.#owed + this.waiting.reduce((sum, { completion }) => sum + completion.tokens, 0);
  }

  #cachedOf(prompt: readonly Segment[]): number {
    let tokens = 0;
    for (const { id, tokens: more } of prompt) {
      if (!this.#cache.has(id)) break;
      tokens += more;
    }
    return tokens;
  }

  /** Starts a step. Returns its duration in milliseconds, or null if there is no work. */
  step(): number | null {
    this.#begin();
    if (this.#decoding + this.#prefills.length === 0) return null;
    let slice = Math.min(
      SLICE,
      this.#prefills.reduce((sum, { left }) => sum + left, 0),
    );
    let ms = MS_PER_STEP + passMs(Math.max(1, this.#decoding + slice)) + (MS_PER_1K_DECODE * this.#context) / 1000;
    for (const prefill of this.#prefills) {
      const share = Math.min(slice, prefill.left);
      ms += (MS_PER_1K_PROMPT * share * (prefill.work.promptTokens - prefill.left)) / 1000;
      prefill.left -= share;
      slice -= share;
      this.computed += share;
    }
    this.#step += 1;
    this.#context += this.#decoding;
    this.#owed -= this.#decoding;
    this.#busyMs += ms;
    return ms;
  }

  /** Must be called at the end of the step. */
  finish(now: number): void {
    for (const work of this.#doneAt.get(this.#step) ?? []) {
      this.#decoding -= 1;
      this.#context -= work.promptTokens + work.completion.tokens;
      this.#keep([...work.prompt, work.completion]);
      work.onDone(now);
    }
    this.#doneAt.delete(this.#step);
    for (const { work } of this.#prefills.filter(({ left }) => left === 0)) {
      work.onFirst(now);
      this.#decoding += 1;
      this.#context += work.promptTokens;
      const end = this.#step + work.completion.tokens;
      this.#doneAt.set(end, [...(this.#doneAt.get(end) ?? []), work]);
    }
    this.#prefills.splice(0, Number.POSITIVE_INFINITY, ...this.#prefills.filter(({ left }) => left > 0));
  }

  #begin(): void {
    while (this.waiting.length > 0 && this.#prefills.length + this.#decoding < SLOTS) {
      const work = this.waiting.shift() as Work;
      // The last token of a prompt is never cached.
      work.cachedTokens = Math.min(this.#cachedOf(work.prompt), work.promptTokens - 1);
      this.#keep(work.prompt);
      this.#owed += work.completion.tokens;
      this.#prefills.push({ work, left: work.promptTokens - work.cachedTokens });
    }
  }

  /** Touches the last segments first, so shared prefixes are evicted last. */
  #keep(segments: readonly Segment[]): void {
    for (const { id, tokens } of [...segments].reverse()) {
      if (!this.#cache.delete(id)) this.#cachedTokens += tokens;
      this.#cache.set(id, tokens);
    }
    for (const [id, tokens] of this.#cache) {
      if (this.#cachedTokens <= CACHE_TOKENS) return;
      this.#cache.delete(id);
      this.#cachedTokens -= tokens;
    }
  }
}
