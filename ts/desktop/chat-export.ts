/** A chat as a document: the branch that is shown, or all of it. */
import type { Chat, ChatMessage } from './api-types.js';

const NAMES: Record<ChatMessage['role'], string> = { system: 'System', user: 'You', assistant: 'Assistant' };

/** The branch that ends in the chat's current message, from its first message on. */
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

/** The name of a file that every system takes. */
export function fileName({ title, id }: Chat, ending: string): string {
  const name = title
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 60);
  return `${name || `chat-${id.slice(0, 8)}`}.${ending}`;
}
