/** Follows the completion of a chat, which the app computes. */

import type { CompletionEvent } from '../../api-types.js';
import { ApiError, send } from './api.js';
import { t } from './language.js';

/** Resolves after the last event, or at once if the chat has no completion. Rejects if the connection is lost. */
export async function followCompletion(
  chat: string,
  signal: AbortSignal,
  take: (event: CompletionEvent) => void,
): Promise<void> {
  const reply = await send(`/api/v1/chats/${encodeURIComponent(chat)}/completion`, { signal });
  if (reply.status === 204 || !reply.body) return;
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new ApiError(t('connectionLost'), 'unreachable', 0);
    const frames = (rest + value).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
      if (data === undefined) continue;
      take({ name, data: JSON.parse(data) } as CompletionEvent);
      if (name === 'end') return;
    }
  }
}
