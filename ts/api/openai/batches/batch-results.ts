/**
 * The results of a running batch. They are stored in parts while it runs, so that a batch continues where it was after the
 * process has ended.
 */
import type { AppContext } from '../../context.js';
import type { BatchObject } from '../../shared/batch-schema.js';
import type { Outcome } from './run-lines.js';

/** Limit of output and errors together, in UTF-16 units. Lines above it are refused. */
export const MAX_RESULTS_LENGTH = 20 * 2 ** 20;

interface Place {
  store: NonNullable<AppContext['responses']>;
  owner: string;
  batch: string;
}

type Part = Pick<Outcome, 'custom_id' | 'succeeded' | 'text'>[];

export class BatchResults {
  readonly #output: string[] = [];
  readonly #errors: string[] = [];
  readonly #done = new Set<string>();
  #unsaved: Part = [];
  #length = 0;
  #usage = NO_USAGE;

  /** `parts`: the number of stored parts to read. Lines of evicted parts run again. */
  constructor(
    private readonly place: Place,
    private parts: number,
  ) {
    for (let part = 0; part < parts; part += 1) {
      const found = place.store.read(place.owner, this.#idOf(part));
      if (found === null || !('data' in found)) continue;
      for (const each of JSON.parse(Buffer.from(found.data.base64, 'base64').toString()) as Part) this.#take(each);
    }
  }

  get completed(): number {
    return this.#output.length;
  }

  get failed(): number {
    return this.#errors.length;
  }

  get usage(): typeof NO_USAGE {
    return this.#usage;
  }

  get isFull(): boolean {
    return this.#length > MAX_RESULTS_LENGTH;
  }

  has(customId: string): boolean {
    return this.#done.has(customId);
  }

  add(outcome: Outcome): void {
    this.#take(outcome);
    this.#unsaved.push(outcome);
  }

  /** Stores the results since the last call. Returns the number of parts. */
  save(): number {
    if (this.#unsaved.length > 0) {
      const base64 = Buffer.from(JSON.stringify(this.#unsaved)).toString('base64');
      this.place.store.put(this.place.owner, { data: { id: this.#idOf(this.parts), base64 } });
      this.parts += 1;
      this.#unsaved = [];
    }
    return this.parts;
  }

  /** The contents of both files. */
  files(): { output: Buffer; errors: Buffer } {
    const toFile = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(''));
    return { output: toFile(this.#output), errors: toFile(this.#errors) };
  }

  clear(): void {
    for (let part = 0; part < this.parts; part += 1) this.place.store.delete(this.place.owner, this.#idOf(part));
  }

  #take({ custom_id, succeeded, text }: Outcome): void {
    if (this.#done.has(custom_id)) return;
    this.#done.add(custom_id);
    (succeeded ? this.#output : this.#errors).push(text);
    this.#length += text.length;
    if (succeeded) this.#usage = addUsage(this.#usage, JSON.parse(text).response.body.usage);
  }

  #idOf(part: number): string {
    return `data-${this.place.batch}-${part}`;
  }
}

type BatchUsage = NonNullable<BatchObject['usage']>;

const NO_USAGE: BatchUsage = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

interface ReplyUsage {
  prompt_tokens?: number;
  input_tokens?: number;
  completion_tokens?: number;
  output_tokens?: number;
  prompt_tokens_details?: { cached_tokens?: number };
  input_tokens_details?: { cached_tokens?: number };
  completion_tokens_details?: { reasoning_tokens?: number };
  output_tokens_details?: { reasoning_tokens?: number };
}

/** `usage`: of a reply of any endpoint. Responses name its fields differently from chats and texts. */
function addUsage(sum: BatchUsage, usage: ReplyUsage = {}): BatchUsage {
  const input = usage.input_tokens ?? usage.prompt_tokens ?? 0;
  const output = usage.output_tokens ?? usage.completion_tokens ?? 0;
  const { cached_tokens = 0 } = usage.input_tokens_details ?? usage.prompt_tokens_details ?? {};
  const { reasoning_tokens = 0 } = usage.output_tokens_details ?? usage.completion_tokens_details ?? {};
  return {
    input_tokens: sum.input_tokens + input,
    input_tokens_details: { cached_tokens: sum.input_tokens_details.cached_tokens + cached_tokens },
    output_tokens: sum.output_tokens + output,
    output_tokens_details: { reasoning_tokens: sum.output_tokens_details.reasoning_tokens + reasoning_tokens },
    total_tokens: sum.total_tokens + input + output,
  };
}
