/** Small parts about a model: picker, next actions, load notes. */

import { useId } from 'preact/hooks';
import type { ListedModel } from '../../api-types.js';
import { server } from '../state/app.js';
import { first } from '../state/chat-pages.js';
import { pickModel } from '../state/developer.js';
import { bytes } from '../state/format.js';
import { t } from '../state/language.js';
import { go } from '../state/route.js';
import { Action } from './button.js';

interface ModelPickerProps {
  label: string;
  models: readonly ListedModel[];
  value: string;
  choose: (key: string) => void;
  disabled?: boolean;
  /** Hides the label visually. */
  plain?: boolean;
}

export function ModelPicker({ label, models, value, choose, disabled = false, plain = false }: ModelPickerProps) {
  const id = useId();
  const known = models.some(({ key }) => key === value);
  return (
    <div class="field">
      <label for={id} class={plain ? 'unseen' : ''}>
        {label}
      </label>
      <select id={id} value={value} disabled={disabled} onChange={(event) => choose(event.currentTarget.value)}>
        {!known && <option value={value}>{value || t('chooseModel')}</option>}
        {models.map(({ key, size_bytes }) => (
          <option key={key} value={key}>
            {key} · {bytes(size_bytes)}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Actions for a downloaded model: chat with it, or start the server with it. */
export function UseModel({ model }: { model: string }) {
  const chat = async () => {
    await first.open(null);
    first.model.value = model;
    go('chat');
  };
  const serve = () => {
    pickModel(model);
    go('developer');
  };
  return (
    <>
      <Action label={t('startChat')} icon="chat" run={chat} />
      {server.value.state === 'stopped' && <Action label={t('startServerWith')} icon="developer" run={serve} />}
    </>
  );
}

export function LoadNotes({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="load-notes help">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}
