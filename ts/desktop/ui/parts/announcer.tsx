/** What a screen reader says of changes that happen elsewhere than where the focus is. */
import { signal } from '@preact/signals';

const spoken = signal<readonly { id: number; text: string }[]>([]);
let last = 0;

/** Has a text said once; the region keeps the last few, because a text that replaces another may cut it off. */
export function announce(text: string): void {
  last += 1;
  spoken.value = [...spoken.value, { id: last, text }].slice(-5);
}

export function Announcer() {
  return (
    <div class="unseen" role="log" aria-live="polite" aria-label="Announcements">
      {spoken.value.map(({ id, text }) => (
        <p key={id}>{text}</p>
      ))}
    </div>
  );
}
