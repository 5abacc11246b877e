/** The chat list: full-text search by the app, newest first. */
import { signal } from '@preact/signals';
import type { AppEvents, ListedChat } from '../../api-types.js';
import { call, get, query } from './api.js';

export const chats = signal<readonly ListedChat[]>([]);
export const chatFilter = signal('');

/** The last change of a chat, by this page or another one. */
export const changedChat = signal<AppEvents['chat'] | null>(null);

export function takeChat(change: AppEvents['chat']): void {
  changedChat.value = change;
  void refreshChats().catch(() => undefined);
}

let newest = 0;

export async function refreshChats(): Promise<void> {
  newest += 1;
  const mine = newest;
  const reply = await get<{ chats: ListedChat[] }>(`/chats${query({ text: chatFilter.value.trim() })}`);
  // An older search may reply after a newer one.
  if (mine === newest) chats.value = reply.chats;
}

export async function deleteChat(id: string): Promise<void> {
  await call('DELETE', `/chats/${encodeURIComponent(id)}`);
}

export async function changeChat(id: string, change: { title?: string; pinned?: boolean }): Promise<void> {
  await call('PUT', `/chats/${encodeURIComponent(id)}`, change);
}
