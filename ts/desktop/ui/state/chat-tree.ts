/** A chat is a tree: each message knows the one before it, and messages with the same one before them are branches. */
import type { ChatMessage } from '../../api-types.js';

export type Messages = readonly ChatMessage[];

/** The messages from the first to `id`. */
export function branchTo(messages: Messages, id: string | null): ChatMessage[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const branch: ChatMessage[] = [];
  let message = id === null ? undefined : byId.get(id);
  // A message is taken out when it is met, so that a circle in a broken file ends.
  while (message) {
    branch.unshift(message);
    byId.delete(message.id);
    message = message.parent === null ? undefined : byId.get(message.parent);
  }
  return branch;
}

/** A message and those that were written in its place. */
export function alternativesOf(messages: Messages, { parent, role }: ChatMessage): ChatMessage[] {
  return messages.filter((other) => other.parent === parent && other.role === role);
}

/** The last message of the newest branch under a message. */
export function lastUnder(messages: Messages, id: string): string {
  let last = id;
  for (let steps = 0; steps < messages.length; steps += 1) {
    const next = messages.findLast(({ parent }) => parent === last);
    if (!next) return last;
    last = next.id;
  }
  return last;
}

export function titleOf(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > 60 ? `${line.slice(0, 57).trimEnd()} …` : line || 'Image';
}
