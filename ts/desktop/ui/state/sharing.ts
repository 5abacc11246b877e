/** Sharing of the server in the local network. */
import { signal } from '@preact/signals';
import type { SharingReply, SharingState } from '../../api-types.js';
import { call, get, post } from './api.js';

/** Undefined until read. */
export const sharing = signal<SharingState | undefined>(undefined);

export async function refreshSharing(): Promise<void> {
  sharing.value = await get<SharingState>('/sharing');
}

/** Returns the key if it was created. */
export async function switchSharing(on: boolean): Promise<string | null> {
  return take(await call<SharingReply>('PUT', '/sharing', { on }));
}

export async function renewKey(): Promise<string | null> {
  return take(await post<SharingReply>('/sharing/key'));
}

function take({ key, ...state }: SharingReply): string | null {
  sharing.value = state;
  return key;
}
