/** The streams of a request's choices, to their ends → the whole reply. */
import type { Finish, Token, TokenStream } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';
import type { ChatCompletion, LogprobEntry } from '../schemas/chat-response.js';
import { choiceBatches } from './choices.js';
import type { CompletionHead } from './completion-head.js';
import { toLogprobEntry } from './logprobs.js';
import { toUsage } from './usage.js';

export async function toCompletion(head: CompletionHead, streams: readonly TokenStream[]): Promise<ChatCompletion> {
  const answers = streams.map(() => new Answer());
  for await (const { index, tokens } of choiceBatches(streams)) {
    for (const token of tokens) answers[index]?.add(token);
  }
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: answers.map((answer, index) => answer.toChoice(index)),
    usage: toUsage(answers.map((answer) => answer.finish)),
  };
}

class Answer {
  #content = '';
  #logprobs: LogprobEntry[] | null = null;
  #finish: Finish | undefined;

  add(token: Token): void {
    this.#content += token.text;
    const entry = toLogprobEntry(token);
    if (token.logprobs) this.#logprobs ??= [];
    if (entry) this.#logprobs?.push(entry);
    this.#finish = token.finish;
  }

  /** Throws when the answer has not ended. */
  get finish(): Finish {
    if (!this.#finish) throw new ChasquiError('internal_error', 'The answer ended without saying why.');
    return this.#finish;
  }

  toChoice(index: number): ChatCompletion['choices'][number] {
    return {
      index,
      message: { role: 'assistant', content: this.#content, refusal: null },
      logprobs: this.#logprobs && { content: this.#logprobs, refusal: null },
      finish_reason: this.finish.reason,
    };
  }
}
