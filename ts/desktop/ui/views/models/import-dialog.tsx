import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { Action } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { post } from '../../state/api.js';
import { refreshLibrary } from '../../state/app.js';
import { type MessageKey, t } from '../../state/language.js';
import { notify } from '../../state/notices.js';

const ways: readonly [how: string, label: MessageKey][] = [
  ['link', 'hardLink'],
  ['symlink', 'symbolicLink'],
  ['copy', 'copyFile'],
];

export function ImportDialog({ close }: { close: () => void }) {
  const path = useSignal('');
  const how = useSignal('link');
  const [pathId, howId] = [useId(), useId()];
  const run = async () => {
    await post('/models/import', { path: path.value.trim(), how: how.value });
    close();
    await refreshLibrary();
    notify('done', t('modelImported'));
  };
  return (
    <Dialog title={t('importGguf')} close={close}>
      <div class="form">
        <div class="field">
          <label for={pathId}>{t('pathOfFile')}</label>
          <input
            id={pathId}
            type="text"
            placeholder="/home/you/models/model-Q4_K_M.gguf"
            value={path.value}
            onInput={(event) => {
              path.value = event.currentTarget.value;
            }}
          />
        </div>
        <div class="field">
          <label for={howId}>{t('how')}</label>
          <select
            id={howId}
            value={how.value}
            onChange={(event) => {
              how.value = event.currentTarget.value;
            }}
          >
            {ways.map(([value, label]) => (
              <option key={value} value={value}>
                {t(label)}
              </option>
            ))}
          </select>
        </div>
        <p class="help">{t('addFolderInstead')}</p>
      </div>
      <div class="dialog-foot">
        <Action label={t('cancel')} run={close} />
        <Action label={t('import')} kind="primary" disabled={path.value.trim() === ''} run={run} />
      </div>
    </Dialog>
  );
}
