/** A token stream, to its end → the whole reply. */
import type { Finish, TokenStream } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';
import type { ChatCompletion, LogprobEntry } from '../schemas/chat-response.js';
import type { CompletionHead } from './completion-head.js';
import { toLogprobEntry } from './logprobs.js';
import { toUsage } from './usage.js';

export async function toCompletion(head: CompletionHead, stream: TokenStream): Promise<ChatCompletion> {
  let content = '';
  let logprobs: LogprobEntry[] | null = null;
  let finish: Finish | undefined;
  for await (const batch of stream.batches()) {
    for (const token of batch) {
      content += token.text;
      const entry = toLogprobEntry(token);
      if (token.logprobs) logprobs ??= [];
      if (entry) logprobs?.push(entry);
      finish = token.finish;
    }
  }
  if (!finish) throw new ChasquiError('internal_error', 'The answer ended without saying why.');
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null },
        logprobs: logprobs && { content: logprobs, refusal: null },
        finish_reason: finish.reason,
      },
    ],
    usage: toUsage(finish),
  };
}
