/** Unsent messages, one per chat. Texts survive a reload; images are too large for the browser's storage. */

export interface Draft {
  text: string;
  images: readonly string[];
}

export const noDraft: Draft = { text: '', images: [] };

const images = new Map<string, readonly string[]>();

/** `null`: the new chat. */
const keyOf = (chat: string | null) => `chasqui.draft.${chat ?? 'new'}`;

export function readDraft(chat: string | null): Draft {
  const key = keyOf(chat);
  return { text: localStorage.getItem(key) ?? '', images: images.get(key) ?? [] };
}

export function keepDraft(chat: string | null, draft: Draft): void {
  const key = keyOf(chat);
  images.set(key, draft.images);
  if (draft.images.length === 0) images.delete(key);
  try {
    if (draft.text) localStorage.setItem(key, draft.text);
    else localStorage.removeItem(key);
  } catch {
    // The storage is full; the draft survives until the page is closed.
  }
}
