/** Converts running completions to their reply, whole or in chunks. */

import type { Finish, TokenStream } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import type { SseEvent } from '../../../http/sse.js';
import type {
  PromptLogprobs,
  PromptProgressReport,
  TimingsReport,
  TimingsSoFar,
  Usage,
} from '../../shared/completion/chat-reply-schema.js';
import { toPromptLogprobs } from '../../shared/completion/logprobs.js';
import type { CompletionHead, PromptProgress, RunningUsage } from '../../shared/completion/reply-fields.js';
import { addUsage, RunningTimings, toTimings, toUsage } from '../../shared/completion/reply-fields.js';
import {
  type ChoiceBatch,
  DONE,
  dataFailure,
  type EventEncoder,
  forEachChoice,
} from '../../shared/completion/stream-reply.js';
import type { PromptTokens } from '../../shared/text/prompt-tokens.js';
import type { RunningCompletions } from '../../shared/text/submit-completions.js';
import { characterCount, LogprobColumns } from './legacy-logprobs.js';
import type { Completion } from './schema.js';

interface ChoiceState {
  /** Text that has not been sent. */
  text: string;
  logprobs: LogprobColumns;
  running: RunningTimings;
  finish: Finish | null;
  /** Null after they have been added. */
  prompt: PromptTokens | null;
  promptLogprobs?: PromptLogprobs;
}

interface EncoderOptions {
  includeUsage: boolean;
  withTopLogprobs: boolean;
  /** Whether the log-probabilities of an echoed prompt precede those of the completion. */
  echoesLogprobs?: boolean;
  /** Whether the log-probabilities of the prompt have a field of their own. */
  withPromptLogprobs?: boolean;
  /** Whether the completion's tokens are hidden. */
  onlyReads?: boolean;
  /** Reports the times of a completion with its end; default false. */
  timings?: boolean;
  /** Also reports the timings known so far with each chunk; default false. */
  timingsPerToken?: boolean;
  /** Reports the usage so far with each chunk; requires `includeUsage`. */
  usage?: RunningUsage | undefined;
  /** The progress of each prompt. Default: not reported. */
  progress?: readonly PromptProgress[];
}

export class CompletionEncoder implements EventEncoder {
  readonly fail = dataFailure;
  readonly progress: (() => string[]) | undefined;
  readonly #head: CompletionHead;
  readonly #options: EncoderOptions;
  readonly #choicesPerPrompt: number;
  readonly #streams: readonly TokenStream[];
  readonly #choices: ChoiceState[];
  /** JSON of a chunk up to the value of `choices`, precomputed because a chunk is made for every token. */
  readonly #chunkHead: string;

  constructor(head: CompletionHead, running: RunningCompletions, options: EncoderOptions) {
    this.#head = head;
    this.#chunkHead = `${JSON.stringify({ ...head, object: 'text_completion' }).slice(0, -1)},"choices":`;
    this.#options = options;
    if (options.progress?.length) this.progress = () => this.#newProgress();
    this.#choicesPerPrompt = running.choicesPerPrompt;
    this.#streams = running.streams;
    this.#choices = running.beginnings.map((text, index) => ({
      text,
      logprobs: new LogprobColumns({ withTop: options.withTopLogprobs, offset: characterCount(text) }),
      running: new RunningTimings(running.streams[index]),
      finish: null,
      prompt: running.promptTokens[index] ?? null,
    }));
  }

  /**
   * Returns the chunks for a choice's tokens, as JSON. The chunk that ends a choice has no text, because some clients
   * read texts only as long as there is no `finish_reason`. The usage follows the end of the last choice.
   */
  encode({ index, tokens }: ChoiceBatch): string[] {
    this.add({ index, tokens });
    const state = this.#choices[index] as ChoiceState;
    const chunks = this.progress?.() ?? [];
    if (state.text !== '') {
      const soFar = this.#options.timingsPerToken ? state.running.soFar() : undefined;
      chunks.push(this.#chunk([this.#take(index, null)], null, soFar));
    }
    if (state.finish) {
      chunks.push(this.#chunk([this.#take(index, state.finish)], null, this.#timingsOf(state.finish)));
      if (this.#choices.every(({ finish }) => finish) && this.#options.includeUsage) {
        chunks.push(this.#chunk([], this.#usage()));
      }
    }
    return chunks;
  }

  /** The new log-probabilities of prompts, each with the first choice of its prompt. */
  #newProgress(): string[] {
    const { progress = [], timingsPerToken } = this.#options;
    return progress.flatMap((prompt, at) => {
      const index = at * this.#choicesPerPrompt;
      const choice = { index, text: '', logprobs: null, finish_reason: null };
      const running = timingsPerToken ? this.#choices[index]?.running : undefined;
      return prompt.take().map((report) => this.#chunk([choice], null, running?.soFar(report.processed), report));
    });
  }

  add({ index, tokens }: ChoiceBatch): void {
    const state = this.#choices[index] as ChoiceState;
    state.running.add(tokens.length);
    this.#options.usage?.add(tokens.length);
    this.#addPrompt(index);
    for (const token of tokens) {
      if (this.#options.onlyReads) {
        if (token.finish) state.finish = { ...token.finish, reason: 'length', completionTokens: 0 };
        continue;
      }
      state.text += token.text;
      state.logprobs.add(token);
      state.finish ??= token.finish ?? null;
    }
  }

  #addPrompt(index: number): void {
    const state = this.#choices[index] as ChoiceState;
    if (!state.prompt) return;
    const { echoesLogprobs, withPromptLogprobs } = this.#options;
    const logprobs = this.#streams[index]?.promptLogprobs ?? [];
    if (echoesLogprobs) state.logprobs.addPrompt(state.prompt, logprobs);
    if (withPromptLogprobs) state.promptLogprobs = toPromptLogprobs(logprobs);
    state.prompt = null;
  }

  end(): readonly SseEvent[] {
    if (this.#choices.some(({ finish }) => finish === null)) {
      throw new ChasquiError('internal_error', 'The completion ended without a reason.');
    }
    return DONE;
  }

  whole(): Completion {
    this.end();
    const choices = this.#choices.map(({ finish }, index) => this.#take(index, finish));
    const timings = this.#timingsOf(this.#choices[0]?.finish);
    const reply = { ...this.#head, object: 'text_completion' as const, choices, usage: this.#usage() };
    return timings === undefined ? reply : { ...reply, timings };
  }

  #timingsOf(finish: Finish | null | undefined): TimingsReport | undefined {
    const { timings = false, timingsPerToken = false } = this.#options;
    return finish && (timings || timingsPerToken) ? toTimings(finish) : undefined;
  }

  #take(index: number, finish: Finish | null): Completion['choices'][number] {
    const state = this.#choices[index] as ChoiceState;
    const { text, promptLogprobs } = state;
    state.text = '';
    delete state.promptLogprobs;
    const choice = { index, text, logprobs: state.logprobs.take(), finish_reason: finish?.reason ?? null };
    return promptLogprobs ? { ...choice, prompt_logprobs: promptLogprobs } : choice;
  }

  #chunk(
    choices: Completion['choices'],
    usage: Usage | null,
    timings?: TimingsReport | TimingsSoFar,
    progress?: PromptProgressReport,
  ): string {
    const { includeUsage, usage: running } = this.#options;
    const usageField = includeUsage ? `,"usage":${JSON.stringify(usage ?? running?.soFar() ?? null)}` : '';
    const timingsField = timings ? `,"timings":${JSON.stringify(timings)}` : '';
    const progressField = progress ? `,"prompt_progress":${JSON.stringify(progress)}` : '';
    return `${this.#chunkHead}${JSON.stringify(choices)}${usageField}${timingsField}${progressField}}`;
  }

  /** Shared by the choices of one prompt, so it counts once. Choices of other prompts have their own. */
  #usage(): Usage {
    const finishes = this.#choices.flatMap(({ finish }) => finish ?? []);
    const perPrompt: Usage[] = [];
    for (let at = 0; at < finishes.length; at += this.#choicesPerPrompt) {
      perPrompt.push(toUsage(finishes.slice(at, at + this.#choicesPerPrompt)));
    }
    return perPrompt.reduce((sum, usage) => addUsage(sum, usage));
  }
}

export async function toWholeCompletion(encoder: CompletionEncoder, running: RunningCompletions): Promise<Completion> {
  await forEachChoice(running.streams, (batch) => encoder.add(batch));
  return encoder.whole();
}
