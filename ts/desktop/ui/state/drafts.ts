/** Unsent messages, one per chat. Texts survive a reload; images, recordings and files are too large for the browser's storage. */

import type { ChatFile } from '../../api-types.js';

export interface Attachments {
  images: readonly string[];
  audio: readonly string[];
  files: readonly ChatFile[];
}

export interface Draft extends Attachments {
  text: string;
}

export const noDraft: Draft = { text: '', images: [], audio: [], files: [] };

export const countOf = ({ images, audio, files }: Attachments): number => images.length + audio.length + files.length;

const attached = new Map<string, Attachments>();

/** `null`: the new chat. */
const keyOf = (chat: string | null) => `chasqui.draft.${chat ?? 'new'}`;

export function readDraft(chat: string | null): Draft {
  const key = keyOf(chat);
  return { ...noDraft, ...attached.get(key), text: localStorage.getItem(key) ?? '' };
}

export function keepDraft(chat: string | null, draft: Draft): void {
  const key = keyOf(chat);
  const { text: _, ...attachments } = draft;
  attached.set(key, attachments);
  if (countOf(draft) === 0) attached.delete(key);
  try {
    if (draft.text) localStorage.setItem(key, draft.text);
    else localStorage.removeItem(key);
  } catch {
    // The storage is full; the draft survives until the page is closed.
  }
}
