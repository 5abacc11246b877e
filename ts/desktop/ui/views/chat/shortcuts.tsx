/** Keyboard shortcuts of the Chat view, and the dialog that lists them. */

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { IconAction } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { busy, newChat, panels, sessions, togglePanel, uncoverChat } from '../../state/chat-pages.js';
import { type MessageKey, t } from '../../state/language.js';
import { attempt } from '../../state/notices.js';
import { setTo } from '../../state/set-to.js';

interface Shortcut {
  keys: string;
  effect: MessageKey;
  matches: (event: KeyboardEvent) => boolean;
  run: () => unknown;
}

const helping = signal(false);
const composer = '.composer textarea';

function help(): void {
  helping.value = true;
}

const hasCommand = (event: KeyboardEvent) => event.ctrlKey || event.metaKey;
const isPlain = (event: KeyboardEvent) => !hasCommand(event) && !event.altKey;

const isInField = ({ target }: KeyboardEvent) =>
  target instanceof HTMLElement && target.matches('input, textarea, select');

const shortcuts: readonly Shortcut[] = [
  {
    keys: 'Ctrl+Shift+O',
    effect: 'newChat',
    matches: (event) => hasCommand(event) && event.shiftKey && event.key.toLowerCase() === 'o',
    run: () => attempt(startChat),
  },
  {
    keys: 'Ctrl+K',
    effect: 'searchAllChats',
    matches: (event) => hasCommand(event) && !event.shiftKey && event.key.toLowerCase() === 'k',
    run: () => {
      if (!panels.value.has('history')) togglePanel('history');
      requestAnimationFrame(() => focus('.history input'));
    },
  },
  {
    keys: '↑',
    effect: 'editLast',
    matches: (event) => event.key === 'ArrowUp' && isPlain(event) && isEmptyComposer(event) && !busy.value,
    run: () => [...document.querySelectorAll<HTMLElement>('.message.user [data-icon="edit"]')].at(-1)?.click(),
  },
  {
    keys: 'Esc',
    effect: 'stopCompletion',
    matches: (event) => event.key === 'Escape' && busy.value,
    run: () => attempt(() => Promise.all(sessions.value.map((session) => session.stop()))),
  },
  {
    keys: '?',
    effect: 'listShortcuts',
    matches: (event) => event.key === '?' && isPlain(event) && (isEmptyComposer(event) || !isInField(event)),
    run: help,
  },
];

export async function startChat(): Promise<void> {
  uncoverChat();
  await newChat();
  focus(composer);
}

function isEmptyComposer({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLTextAreaElement && target.matches(composer) && target.value === '';
}

function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}

export function ShortcutsAction() {
  return <IconAction label={t('keyboardShortcuts')} icon="keyboard" run={help} />;
}

export function Shortcuts() {
  useEffect(() => {
    const take = (event: KeyboardEvent) => {
      if (event.isComposing || document.querySelector('dialog[open]')) return;
      const found = shortcuts.find(({ matches }) => matches(event));
      if (!found) return;
      event.preventDefault();
      void found.run();
    };
    addEventListener('keydown', take);
    return () => removeEventListener('keydown', take);
  }, []);
  if (!helping.value) return null;
  return (
    <Dialog title={t('keyboardShortcuts')} close={setTo(helping, false)}>
      <dl class="shortcuts">
        {shortcuts.map(({ keys, effect }) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{t(effect)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
