/** Running completions → their reply, whole or in chunks. */
import { type ChoiceBatch, forEachChoice } from '../chat/choices.js';
import type { CompletionHead } from '../chat/completion-head.js';
import { toUsage } from '../chat/usage.js';
import type { Finish } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';
import type { Usage } from '../schemas/chat-response.js';
import type { Completion } from '../schemas/completion-response.js';
import { characterCount, LogprobColumns } from './legacy-logprobs.js';
import type { RunningCompletions } from './submit-completions.js';

interface ChoiceState {
  /** Text that has not gone out yet. */
  text: string;
  logprobs: LogprobColumns;
  finish: Finish | null;
}

interface EncoderOptions {
  includeUsage: boolean;
  withTopLogprobs: boolean;
}

export class CompletionEncoder {
  readonly #head: CompletionHead;
  readonly #includeUsage: boolean;
  readonly #choicesPerPrompt: number;
  readonly #choices: ChoiceState[];

  constructor(head: CompletionHead, running: RunningCompletions, options: EncoderOptions) {
    this.#head = head;
    this.#includeUsage = options.includeUsage;
    this.#choicesPerPrompt = running.choicesPerPrompt;
    this.#choices = running.beginnings.map((text) => ({
      text,
      logprobs: new LogprobColumns({ withTop: options.withTopLogprobs, offset: characterCount(text) }),
      finish: null,
    }));
  }

  /**
   * The chunks that a choice's tokens make, as JSON: one with their text, and after the last choice's end the usage.
   */
  encode({ index, tokens }: ChoiceBatch): string[] {
    this.add({ index, tokens });
    const state = this.#choices[index] as ChoiceState;
    const chunks: string[] = [];
    if (state.text !== '' || state.finish) chunks.push(this.#chunk([this.#take(index)], null));
    if (state.finish && this.#includeUsage && this.#choices.every(({ finish }) => finish)) {
      chunks.push(this.#chunk([], this.#usage()));
    }
    return chunks;
  }

  add({ index, tokens }: ChoiceBatch): void {
    const state = this.#choices[index] as ChoiceState;
    for (const token of tokens) {
      state.text += token.text;
      state.logprobs.add(token);
      state.finish ??= token.finish ?? null;
    }
  }

  /** Throws when a choice has not ended: a stream that just stops must not look complete. */
  assertFinished(): void {
    if (this.#choices.some(({ finish }) => finish === null)) {
      throw new ChasquiError('internal_error', 'The completion ended without saying why.');
    }
  }

  whole(): Completion {
    this.assertFinished();
    const choices = this.#choices.map((_, index) => this.#take(index));
    return { ...this.#head, object: 'text_completion', choices, usage: this.#usage() };
  }

  #take(index: number): Completion['choices'][number] {
    const state = this.#choices[index] as ChoiceState;
    const { text } = state;
    state.text = '';
    return { index, text, logprobs: state.logprobs.take(), finish_reason: state.finish?.reason ?? null };
  }

  #chunk(choices: Completion['choices'], usage: Usage | null): string {
    const chunk: Completion = { ...this.#head, object: 'text_completion', choices };
    return JSON.stringify(this.#includeUsage ? { ...chunk, usage } : chunk);
  }

  /** Choices of one prompt share it, so that it counts once; those of another have their own. */
  #usage(): Usage {
    const finishes = this.#choices.flatMap(({ finish }) => finish ?? []);
    const perPrompt: Usage[] = [];
    for (let at = 0; at < finishes.length; at += this.#choicesPerPrompt) {
      perPrompt.push(toUsage(finishes.slice(at, at + this.#choicesPerPrompt)));
    }
    return perPrompt.reduce((sum, usage) => ({
      prompt_tokens: sum.prompt_tokens + usage.prompt_tokens,
      completion_tokens: sum.completion_tokens + usage.completion_tokens,
      total_tokens: sum.total_tokens + usage.total_tokens,
      prompt_tokens_details: {
        cached_tokens: sum.prompt_tokens_details.cached_tokens + usage.prompt_tokens_details.cached_tokens,
      },
    }));
  }
}

export async function toWholeCompletion(encoder: CompletionEncoder, running: RunningCompletions): Promise<Completion> {
  await forEachChoice(running.streams, (batch) => encoder.add(batch));
  return encoder.whole();
}
