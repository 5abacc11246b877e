/** The chat list: full-text search by the app, newest first. */
import { batch, signal } from '@preact/signals';
import type { AppEvents, ChatChange, ChatFolder, ChatList, FolderChange, ListedChat } from '../../api-types.js';
import { call, get, post, query } from './api.js';

export const chats = signal<readonly ListedChat[]>([]);
export const folders = signal<readonly ChatFolder[]>([]);
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
  const reply = await get<ChatList>(`/chats${query({ text: chatFilter.value.trim() })}`);
  // An older search may reply after a newer one.
  if (mine !== newest) return;
  batch(() => {
    chats.value = reply.chats;
    folders.value = reply.folders;
  });
}

export async function deleteChat(id: string): Promise<void> {
  await call('DELETE', `/chats/${encodeURIComponent(id)}`);
}

export async function changeChat(id: string, change: Pick<ChatChange, 'title' | 'pinned' | 'folder'>): Promise<void> {
  await call('PUT', `/chats/${encodeURIComponent(id)}`, change);
}

export async function addFolder(name: string): Promise<void> {
  await post('/folders', { name });
}

export async function changeFolder(name: string, change: FolderChange): Promise<void> {
  await call('PUT', `/folders/${encodeURIComponent(name)}`, change);
}

export async function removeFolder(name: string): Promise<void> {
  await call('DELETE', `/folders/${encodeURIComponent(name)}`);
}
