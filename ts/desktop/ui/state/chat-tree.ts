/** A chat is a tree: each message has a parent, and siblings are alternative branches. */
import type { ChatMessage } from '../../api-types.js';

export type Messages = readonly ChatMessage[];

/** The path from the root to `id`. */
export function branchTo(messages: Messages, id: string | null): ChatMessage[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const branch: ChatMessage[] = [];
  let message = id === null ? undefined : byId.get(id);
  // Removing visited messages ends cycles in corrupt files.
  while (message) {
    branch.unshift(message);
    byId.delete(message.id);
    message = message.parent === null ? undefined : byId.get(message.parent);
  }
  return branch;
}

export function alternativesOf(messages: Messages, { parent, role }: ChatMessage): ChatMessage[] {
  return messages.filter((other) => other.parent === parent && other.role === role);
}

/** The leaf of the newest branch below a message, or of the newest one. */
export function lastUnder<Id extends string | null>(messages: Messages, id: Id): string | Id {
  let last: string | Id = id;
  for (let steps = 0; steps < messages.length; steps += 1) {
    const next = messages.findLast(({ parent }) => parent === last);
    if (!next) return last;
    last = next.id;
  }
  return last;
}

/** Empty for a message that has only images. */
export function titleOf({ content, files = [] }: Pick<ChatMessage, 'content' | 'files'>): string {
  const line = (content.trim() || (files[0]?.name ?? '')).split('\n', 1)[0] ?? '';
  return line.length > 60 ? `${line.slice(0, 57).trimEnd()} …` : line;
}
