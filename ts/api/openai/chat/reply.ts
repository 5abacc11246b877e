/** Reads the streams of a request's choices to their ends and returns the whole reply. */
import type { Finish, TokenStream } from '../../../engine/engine.js';
import type { ChatCompletion, LogprobEntry, VerboseReport } from '../../shared/completion/chat-reply-schema.js';
import { type CompletionDelta, CompletionReader } from '../../shared/completion/completion-reader.js';
import type { CompletionHead } from '../../shared/completion/reply-fields.js';
import { toTimings, totalReasoningTokens, toUsage } from '../../shared/completion/reply-fields.js';
import { forEachChoice } from '../../shared/completion/stream-reply.js';
import { CallForms, toOldReason } from './call-forms.js';

export interface CompletionOptions {
  /** Whether the tokens have parsed deltas; default false. */
  parsed?: boolean | undefined;
  logprobs?: boolean | undefined;
  /** Reports the times of the first choice; default false. */
  timings?: boolean | undefined;
  /** Makes the report on the first choice; default: none. */
  verbose?: ((finish: Finish) => VerboseReport) | undefined;
  customTools?: ReadonlySet<string> | undefined;
  /** Replies with calls as `function_call`; default false. */
  hasOldForm?: boolean | undefined;
  /** Gets the deltas of the first choice. The completion waits for its promise. */
  onDeltas?: ((deltas: readonly CompletionDelta[]) => void | Promise<void>) | undefined;
}

export async function toCompletion(
  head: CompletionHead,
  streams: readonly TokenStream[],
  {
    parsed = false,
    logprobs = false,
    timings = false,
    verbose,
    customTools = new Set(),
    hasOldForm = false,
    onDeltas,
  }: CompletionOptions = {},
): Promise<ChatCompletion> {
  const choices = streams.map(() => new Choice(parsed, logprobs, new CallForms(customTools)));
  await forEachChoice(streams, ({ index, tokens }) => {
    const choice = choices[index] as Choice;
    const deltas = choice.reader.read(tokens);
    for (const delta of deltas) choice.add(delta);
    return index === 0 ? onDeltas?.(deltas) : undefined;
  });
  const readers = choices.map(({ reader }) => reader);
  const finishes = readers.map(({ finish }) => finish);
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    system_fingerprint: head.system_fingerprint,
    choices: choices.map((choice, index) => choice.toReply(index, hasOldForm)),
    usage: toUsage(finishes, totalReasoningTokens(readers)),
    ...(timings && finishes[0] && { timings: toTimings(finishes[0]) }),
    ...(verbose && finishes[0] && { __verbose: verbose(finishes[0]) }),
  };
}

class Choice {
  readonly reader: CompletionReader;
  #content = '';
  #reasoning = '';
  readonly #calls: { id: string; name: string; json: string }[] = [];
  readonly #logprobs: LogprobEntry[] | null;

  constructor(
    parsed: boolean,
    logprobs: boolean,
    private readonly forms: CallForms,
  ) {
    this.reader = new CompletionReader(parsed);
    this.#logprobs = logprobs ? [] : null;
  }

  add(delta: CompletionDelta): void {
    this.#reasoning += delta.reasoning_content ?? '';
    this.#content += delta.content ?? '';
    this.#logprobs?.push(...(delta.logprobs ?? []));
    for (const { index, id = '', function: piece } of delta.tool_calls ?? []) {
      this.#calls[index] ??= { id, name: piece.name ?? '', json: '' };
      (this.#calls[index] as { json: string }).json += piece.arguments;
    }
  }

  toReply(index: number, hasOldForm: boolean): ChatCompletion['choices'][number] {
    this.#logprobs?.push(...this.reader.takeLogprobs());
    return {
      index,
      message: {
        role: 'assistant',
        content: this.#content === '' && this.#calls.length > 0 ? null : this.#content,
        refusal: null,
        ...(this.#reasoning !== '' && { reasoning_content: this.#reasoning }),
        ...(this.#calls.length > 0 && (hasOldForm ? this.#toOldForm() : this.#toToolCalls())),
      },
      logprobs: this.#logprobs && { content: this.#logprobs, refusal: null },
      finish_reason: hasOldForm ? toOldReason(this.reader.finishReason) : this.reader.finishReason,
    };
  }

  #toToolCalls() {
    return { tool_calls: this.#calls.map(({ id, name, json }) => this.forms.toCall(id, name, json)) };
  }

  #toOldForm() {
    const { name = '', json = '' } = this.#calls[0] ?? {};
    return { function_call: { name, arguments: json } };
  }
}
