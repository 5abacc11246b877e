import type { ChatMessage } from './api-types.js';

export function branchTo(messages: readonly ChatMessage[], last: string | null): ChatMessage[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const branch: ChatMessage[] = [];
  let next = byId.get(last ?? '');
  // Removing visited messages ends cycles in corrupt files.
  while (next !== undefined) {
    branch.unshift(next);
    byId.delete(next.id);
    next = byId.get(next.parent ?? '');
  }
  return branch;
}
