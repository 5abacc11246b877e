/** Announces changes to screen readers. */

import { signal } from '@preact/signals';
import { t } from '../state/language.js';

const spoken = signal<readonly { id: number; text: string }[]>([]);
let last = 0;

/** Announces a text. The region keeps the last few, because replacing one could interrupt its speech. */
export function announce(text: string): void {
  last += 1;
  spoken.value = [...spoken.value, { id: last, text }].slice(-5);
}

export function Announcer() {
  return (
    <div class="unseen" role="log" aria-live="polite" aria-label={t('announcements')}>
      {spoken.value.map(({ id, text }) => (
        <p key={id}>{text}</p>
      ))}
    </div>
  );
}
