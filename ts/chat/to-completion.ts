/** The streams of a request's choices, to their ends → the whole reply. */
import type { ReplyParser, TokenStream } from '../engine/engine.js';
import type { ChatCompletion, LogprobEntry, ToolCallReply } from '../schemas/chat-response.js';
import { type AnswerDelta, AnswerReader } from './answer-delta.js';
import { forEachChoice } from './choices.js';
import type { CompletionHead } from './completion-head.js';
import { toTimings } from './timings.js';
import { totalReasoningTokens, toUsage } from './usage.js';

export interface CompletionOptions {
  /** One for each choice; absent where answers are their text. */
  parsers?: readonly ReplyParser[] | undefined;
  logprobs?: boolean | undefined;
  /** Reports the times of the first choice; default false. */
  timings?: boolean | undefined;
}

export async function toCompletion(
  head: CompletionHead,
  streams: readonly TokenStream[],
  { parsers, logprobs = false, timings = false }: CompletionOptions = {},
): Promise<ChatCompletion> {
  const answers = streams.map((_, index) => new Answer(parsers?.[index], logprobs));
  await forEachChoice(streams, ({ index, tokens }) => {
    const answer = answers[index] as Answer;
    for (const delta of answer.reader.read(tokens)) answer.add(delta);
  });
  const readers = answers.map(({ reader }) => reader);
  const finishes = readers.map(({ finish }) => finish);
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    system_fingerprint: head.system_fingerprint,
    choices: answers.map((answer, index) => answer.toChoice(index)),
    usage: toUsage(finishes, totalReasoningTokens(readers)),
    ...(timings && finishes[0] && { timings: toTimings(finishes[0]) }),
  };
}

class Answer {
  readonly reader: AnswerReader;
  #content = '';
  #reasoning = '';
  readonly #calls: ToolCallReply[] = [];
  readonly #logprobs: LogprobEntry[] | null;

  constructor(parser: ReplyParser | undefined, logprobs: boolean) {
    this.reader = new AnswerReader(parser);
    this.#logprobs = logprobs ? [] : null;
  }

  add(delta: AnswerDelta): void {
    this.#reasoning += delta.reasoning_content ?? '';
    this.#content += delta.content ?? '';
    this.#logprobs?.push(...(delta.logprobs ?? []));
    for (const { index, id = '', function: piece } of delta.tool_calls ?? []) {
      this.#calls[index] ??= { id, type: 'function', function: { name: piece.name ?? '', arguments: '' } };
      (this.#calls[index] as ToolCallReply).function.arguments += piece.arguments;
    }
  }

  toChoice(index: number): ChatCompletion['choices'][number] {
    this.#logprobs?.push(...this.reader.takeLogprobs());
    return {
      index,
      message: {
        role: 'assistant',
        content: this.#content === '' && this.#calls.length > 0 ? null : this.#content,
        refusal: null,
        ...(this.#reasoning !== '' && { reasoning_content: this.#reasoning }),
        ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
      },
      logprobs: this.#logprobs && { content: this.#logprobs, refusal: null },
      finish_reason: this.reader.finishReason,
    };
  }
}
