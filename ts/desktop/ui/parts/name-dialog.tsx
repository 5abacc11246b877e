/** A dialog that asks for a name. */

import { useEffect, useRef } from 'preact/hooks';
import { t } from '../state/language.js';
import { attempt } from '../state/notices.js';
import { Action } from './button.js';
import { Dialog } from './dialog.js';

interface NameDialogProps {
  title: string;
  field: string;
  name: string;
  maxLength: number;
  /** Label of the button that saves. */
  action: string;
  save: (name: string) => unknown;
  close: () => void;
}

export function NameDialog({ title, field, name, maxLength, action, save, close }: NameDialogProps) {
  const input = useRef<HTMLInputElement>(null);
  // The dialog has focused its first button.
  useEffect(() => {
    input.current?.focus();
    input.current?.select();
  }, []);
  const submit = async () => {
    const text = input.current?.value.trim() ?? '';
    if (text) await save(text);
    close();
  };
  return (
    <Dialog title={title} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void attempt(submit);
        }}
      >
        <input ref={input} type="text" dir="auto" aria-label={field} maxLength={maxLength} defaultValue={name} />
        <div class="dialog-foot">
          <Action label={t('cancel')} run={close} />
          <button type="submit" class="primary">
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
