import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../state/language.js';
import { attempt } from '../state/notices.js';
import { announce } from './announcer.js';
import { Icon, type IconName } from './icon.js';

interface ActionProps {
  label: string;
  icon?: IconName;
  kind?: 'primary' | 'danger' | 'quiet';
  disabled?: boolean;
  /** Handler. The button is disabled until the returned promise settles. */
  run: () => unknown;
  children?: ComponentChildren;
}

/** A button with an async handler; errors become notices. */
export function Action({ label, icon, kind, disabled = false, run, children }: ActionProps) {
  const busy = useSignal(false);
  const press = async () => {
    if (busy.value) return;
    busy.value = true;
    await attempt(async () => run());
    busy.value = false;
  };
  return (
    <button type="button" class={kind} disabled={disabled} aria-busy={busy.value} onClick={press}>
      {icon && <Icon name={icon} />}
      {children ?? label}
    </button>
  );
}

interface IconActionProps {
  label: string;
  icon: IconName;
  run: () => unknown;
  disabled?: boolean;
  pressed?: boolean;
}

/** An icon button; its label is the accessible name and the tooltip. */
export function IconAction({ label, icon, run, disabled = false, pressed }: IconActionProps) {
  return (
    <button
      type="button"
      class="icon-button"
      data-icon={icon}
      aria-label={label}
      title={label}
      disabled={disabled}
      aria-pressed={pressed}
      onClick={() => void attempt(async () => run())}
    >
      <Icon name={icon} />
    </button>
  );
}

interface FileActionProps {
  label: string;
  icon: IconName;
  accept: string;
  take: (files: readonly File[]) => unknown;
}

/** An icon button that opens the file dialog. */
export function FileAction({ label, icon, accept, take }: FileActionProps) {
  const choose = () => {
    const input = document.createElement('input');
    Object.assign(input, { type: 'file', multiple: true, accept });
    input.onchange = () => void attempt(async () => take([...(input.files ?? [])]));
    input.click();
  };
  return <IconAction label={label} icon={icon} run={choose} />;
}

/** Copies a text and confirms it on the button. */
export function CopyButton({ text, label, named = false }: { text: () => string; label: string; named?: boolean }) {
  const copied = useSignal(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  // Missing on pages without TLS, except those of this computer.
  if (!navigator.clipboard) return null;
  const copy = async () => {
    await navigator.clipboard.writeText(text());
    copied.value = true;
    announce(t('copied'));
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      copied.value = false;
    }, 1500);
  };
  return (
    <button
      type="button"
      class={named ? 'quiet' : 'icon-button'}
      aria-label={named ? undefined : label}
      title={label}
      onClick={() => void attempt(copy)}
    >
      <Icon name={copied.value ? 'check' : 'copy'} />
      {named && (copied.value ? t('copied') : label)}
    </button>
  );
}
