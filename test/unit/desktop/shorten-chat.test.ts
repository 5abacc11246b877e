import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatMessage } from '../../../ts/desktop/api-types.js';
import { afterSummary, splitBranch, summaryRequest } from '../../../ts/desktop/shorten-chat.js';

const shorten = suite('chats that do not fit');

const branch = Array.from({ length: 10 }, (_, index) => ({
  id: `m${index}`,
  parent: null,
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: 'x'.repeat(99),
})) as ChatMessage[];
const full = { message: '', code: 'context_length_exceeded' };

shorten('the newest turns are kept, with room for completions', () => {
  const { omitted, kept } = splitBranch(branch, { ...full, n_ctx: 1000, n_prompt_tokens: 1000 });
  assert.equal([omitted.length, kept.length, kept[0]?.role], [4, 6, 'user']);
  assert.is(splitBranch(branch, { ...full, n_ctx: 500, n_prompt_tokens: 1000 }).kept.length, 2);
});

shorten('the last turn is always kept, and then nothing is omitted', () => {
  const long = [...branch, { ...(branch[0] as ChatMessage), content: 'x'.repeat(10_000) }];
  const { kept } = splitBranch(long, { ...full, n_ctx: 500, n_prompt_tokens: 1000 });
  assert.is(kept.length, 1);
  assert.equal(splitBranch(kept, { ...full, n_ctx: 500, n_prompt_tokens: 1000 }).omitted, []);
});

shorten('a branch continues after its last summary', () => {
  assert.equal(afterSummary(branch), { summary: '', rest: branch });
  const covered = branch.map((message, index) =>
    index === 3 ? { ...message, stats: { summary: 'So far.' } } : message,
  );
  const { summary, rest } = afterSummary(covered);
  assert.equal([summary, rest.length], ['So far.', 6]);
});

shorten('a summary covers the earlier one, or the end of a transcript that is too long', () => {
  const { messages } = summaryRequest('demo', 'Before.', branch, 1) as { messages: { content: string }[] };
  assert.match(messages[0]?.content ?? '', /Earlier: Before\.\n\nUser: x+\n\nAssistant: x/);
  const half = summaryRequest('demo', 'Before.', branch, 0.5) as { messages: { content: string }[] };
  assert.not.match(half.messages[0]?.content ?? '', /Before/);
});

shorten.run();
