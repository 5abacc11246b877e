import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../state/language.js';
import { IconAction } from './button.js';

interface DialogProps {
  title: string;
  close: () => void;
  children: ComponentChildren;
}

/** A modal dialog. The browser traps the focus, closes it on Escape and restores the focus. */
export function Dialog({ title, close, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  // Removing the element queues the event too, when another dialog may be open.
  return (
    <dialog ref={ref} aria-label={title} onClose={() => ref.current && close()}>
      <header class="dialog-head">
        <h2>{title}</h2>
        <IconAction label={t('close')} icon="close" run={() => ref.current?.close()} />
      </header>
      {children}
    </dialog>
  );
}
