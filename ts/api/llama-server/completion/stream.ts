/** Converts running completions to llama-server's own reply, whole or as events. */

import type { Finish, Token, TokenLogprob, TokenStream } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import { toEnding } from '../../shared/completion/generation-settings.js';
import { ReturnedTokens } from '../../shared/completion/logprobs.js';
import type { PromptProgress } from '../../shared/completion/reply-fields.js';
import { RunningTimings } from '../../shared/completion/reply-fields.js';
import { type ChoiceBatch, forEachChoice } from '../../shared/completion/stream-reply.js';
import { nativeFailure } from '../native-errors.js';
import type { NativeEnding, NativePiece, TokenProbability } from '../schema.js';

export interface NativeCompletionSettings {
  model: string;
  contextLength: number;
  generationSettings: Record<string, unknown>;
  /** For each choice, the text of its prompt and its number of tokens, 0 if not known yet. */
  prompts: readonly { text: string; tokens: number }[];
  /** The choices themselves. */
  streams: readonly Pick<TokenStream, 'prefill'>[];
  /** The request only evaluates the prompt: one token is computed and not returned. */
  onlyReads: boolean;
  returnTokens: boolean;
  /** Paths of fields that the whole reply has; empty: all. */
  responseFields: readonly string[];
  /** Whether each event of a stream has the times so far. */
  timingsPerToken: boolean;
  /** Of each prompt; empty where it is not reported. */
  progress: readonly PromptProgress[];
  choicesPerPrompt: number;
}

/** Output since the last event, or since the beginning of a whole reply. */
interface Pending {
  text: string;
  tokens: number[];
  probabilities: TokenProbability[];
}

interface Choice {
  returned: ReturnedTokens;
  pending: Pending;
  count: number;
  hasNewLine: boolean;
  running: RunningTimings;
  finish: Finish | null;
}

const newPending = (): Pending => ({ text: '', tokens: [], probabilities: [] });

/** No sequence has a place that a later request could ask for. */
const NO_SLOT = -1;

export class NativeCompletions {
  readonly fail = nativeFailure;
  readonly #settings: NativeCompletionSettings;
  readonly #choices: Choice[];

  constructor(settings: NativeCompletionSettings) {
    this.#settings = settings;
    this.#choices = settings.prompts.map((_, index) => ({
      pending: newPending(),
      count: 0,
      hasNewLine: false,
      returned: new ReturnedTokens(),
      running: new RunningTimings(settings.streams[index]),
      finish: null,
    }));
  }

  /** An event for each token that made text certain, and one for the end of a choice. */
  encode({ index, tokens }: ChoiceBatch): string[] {
    const { onlyReads, timingsPerToken } = this.#settings;
    const { running } = this.#choices[index] as Choice;
    const events: NativePiece[] = [];
    running.add(tokens.length);
    for (const token of tokens) {
      this.#add(index, token);
      const timings = timingsPerToken && { timings: running.soFar() };
      if (token.text !== '' && !onlyReads) events.push({ ...this.#take(index), ...timings });
      if (token.finish) events.push(this.#last(index, { ...this.#take(index), content: '', tokens: [] }));
    }
    return [...this.#progress(), ...events.map((event) => JSON.stringify(event))];
  }

  get progress(): (() => string[]) | undefined {
    return this.#settings.progress.length === 0 ? undefined : () => this.#progress();
  }

  /** What is new of the prompts, each at its first choice. */
  #progress(): string[] {
    const { progress, choicesPerPrompt, timingsPerToken } = this.#settings;
    return progress.flatMap((prompt, at) => {
      const index = at * choicesPerPrompt;
      return prompt.take().map((prompt_progress) => {
        const { running } = this.#choices[index] as Choice;
        const timings = timingsPerToken && { timings: running.soFar(prompt_progress.processed) };
        const piece = { ...this.#head(index), content: '', tokens: [], tokens_evaluated: prompt_progress.total };
        return JSON.stringify({ ...piece, tokens_predicted: 0, ...timings, prompt_progress } satisfies NativePiece);
      });
    });
  }

  /** Throws when a choice has not ended: a stream that just stops must not look complete. */
  end(): string[] {
    if (this.#choices.some(({ finish }) => finish === null)) {
      throw new ChasquiError('internal_error', 'The completion ended without a reason.');
    }
    return [];
  }

  /** Reads the streams to their ends, and returns the whole reply: a list where there are several choices. */
  async collect(streams: readonly TokenStream[]): Promise<object> {
    await forEachChoice(streams, ({ index, tokens }) => {
      for (const token of tokens) this.#add(index, token);
    });
    this.end();
    const replies = this.#choices.map((_, index) => this.#whole(index));
    return replies.length === 1 ? (replies[0] as object) : replies;
  }

  #whole(index: number): object {
    const { responseFields, returnTokens } = this.#settings;
    const piece = this.#take(index);
    const reply = this.#last(index, returnTokens ? piece : { ...piece, tokens: [] });
    return responseFields.length === 0 ? reply : pick(reply, responseFields);
  }

  #add(index: number, token: Token): void {
    const choice = this.#choices[index] as Choice;
    choice.finish ??= token.finish ?? null;
    if (this.#settings.onlyReads) return;
    const { pending } = choice;
    choice.count += 1;
    choice.hasNewLine ||= token.text.includes('\n');
    pending.text += token.text;
    pending.tokens.push(token.id);
    if (token.logprobs === undefined) return;
    for (const { logprobs } of choice.returned.add(token)) {
      if (logprobs === undefined) continue;
      pending.probabilities.push(
        this.#settings.generationSettings.post_sampling_probs
          ? { ...toProbability(logprobs), top_probs: logprobs.top.map(toProbability) }
          : { ...toLogprob(logprobs), top_logprobs: logprobs.top.map(toLogprob) },
      );
    }
  }

  #take(index: number): NativePiece {
    const choice = this.#choices[index] as Choice;
    const { text, tokens, probabilities } = choice.pending;
    choice.pending = newPending();
    return {
      ...this.#head(index),
      content: text,
      tokens,
      tokens_predicted: choice.count,
      tokens_evaluated: choice.finish?.promptTokens ?? this.#settings.prompts[index]?.tokens ?? 0,
      ...(probabilities.length > 0 && { completion_probabilities: probabilities }),
    };
  }

  #head(index: number): Pick<NativePiece, 'index' | 'stop' | 'id_slot'> {
    return { index, stop: false, id_slot: NO_SLOT };
  }

  #last(index: number, piece: NativePiece): NativePiece & NativeEnding {
    const { finish, hasNewLine } = this.#choices[index] as Choice & { finish: Finish };
    const { model, contextLength, generationSettings, prompts } = this.#settings;
    return {
      ...toEnding(finish, { contextLength }),
      ...piece,
      stop: true,
      model,
      generation_settings: generationSettings,
      prompt: prompts[index]?.text ?? '',
      has_new_line: hasNewLine,
    };
  }
}

function toLogprob(token: TokenLogprob) {
  return { ...spelled(token), logprob: Math.max(Math.min(token.logprob, 0), MIN_LOGPROB) };
}

function toProbability(token: TokenLogprob) {
  return { ...spelled(token), prob: Math.min(Math.exp(token.logprob), 1) };
}

function spelled({ id, bytes }: TokenLogprob) {
  return { id, token: Buffer.from(bytes).toString('utf8'), bytes: Array.from(bytes) };
}

/** JSON has no infinity, which is the logarithm of zero. */
const MIN_LOGPROB = -9999;

/** `generation_settings/n_predict` is a field within a field; its path is its name in the reply. */
function pick(reply: object, paths: readonly string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const path of paths) {
    let value: unknown = reply;
    for (const name of path.split('/')) {
      value =
        typeof value === 'object' && value !== null && Object.hasOwn(value, name)
          ? Reflect.get(value, name)
          : undefined;
    }
    if (value !== undefined && path !== '__proto__') picked[path] = value;
  }
  return picked;
}
