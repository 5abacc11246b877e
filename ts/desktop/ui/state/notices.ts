/** Notices: errors with remedies, and confirmations. */
import { signal } from '@preact/signals';
import { isAbort, wordsOf } from './api.js';

export interface Mend {
  label: string;
  run: () => void;
}

export interface Notice {
  id: number;
  kind: 'error' | 'done';
  text: string;
  mends: readonly Mend[];
}

export const notices = signal<readonly Notice[]>([]);
let last = 0;

export function notify(kind: Notice['kind'], text: string, mends: readonly Mend[] = []): void {
  last += 1;
  const id = last;
  notices.value = [...notices.value.filter((notice) => notice.text !== text), { id, kind, text, mends }].slice(-4);
  if (kind === 'done') setTimeout(() => dismiss(id), 4000);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

/** Runs an action and turns an error into a notice. Returns whether it succeeded. */
export async function attempt(
  work: () => Promise<unknown>,
  mendsFor?: (error: unknown) => readonly Mend[],
): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!isAbort(error)) notify('error', wordsOf(error), mendsFor?.(error) ?? []);
    return false;
  }
}
