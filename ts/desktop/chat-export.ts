/** Exports a chat as a document: the shown branch, or all of it. */
import type { Chat, ChatMessage } from './api-types.js';

const NAMES: Record<ChatMessage['role'], string> = { system: 'System', user: 'You', assistant: 'Assistant' };

/** Returns the messages of the shown branch, first to last. */
export function shownBranch({ messages, current }: Chat): ChatMessage[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const branch: ChatMessage[] = [];
  let next = byId.get(current ?? messages.at(-1)?.id ?? '');
  while (next !== undefined && !branch.includes(next)) {
    branch.unshift(next);
    next = byId.get(next.parent ?? '');
  }
  return branch;
}

export function toMarkdown(chat: Chat): string {
  const system = chat.systemPrompt === '' ? [] : [`> ${chat.systemPrompt.replaceAll('\n', '\n> ')}`];
  const messages = shownBranch(chat).map((message) => {
    const images = (message.images ?? []).map((_, index) => `*(image ${index + 1})*`).join(' ');
    const name = message.role === 'assistant' && message.model ? message.model : NAMES[message.role];
    return [`## ${name}`, ...(images === '' ? [] : [images]), message.content].join('\n\n');
  });
  return `${[`# ${chat.title || 'Chat'}`, ...system, ...messages].join('\n\n')}\n`;
}

/** A file name that is valid on every system. */
export function fileName({ title, id }: Chat, ending: string): string {
  const name = title
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 60);
  return `${name || `chat-${id.slice(0, 8)}`}.${ending}`;
}
