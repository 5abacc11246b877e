import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { Action } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { SelectField } from '../../parts/select.js';
import { post } from '../../state/api.js';
import { refreshLibrary } from '../../state/app.js';
import { type MessageKey, t } from '../../state/language.js';
import { notify } from '../../state/notices.js';
import { setToText } from '../../state/set-to.js';

const ways: readonly [how: string, label: MessageKey][] = [
  ['link', 'hardLink'],
  ['symlink', 'symbolicLink'],
  ['copy', 'copyFile'],
];

export function ImportDialog({ close }: { close: () => void }) {
  const path = useSignal('');
  const how = useSignal('link');
  const pathId = useId();
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
            onInput={setToText(path)}
          />
        </div>
        <SelectField
          label={t('how')}
          value={how.value}
          options={ways.map(([value, label]) => [value, t(label)])}
          choose={(way) => {
            how.value = way;
          }}
        />
        <p class="help">{t('addFolderInstead')}</p>
      </div>
      <div class="dialog-foot">
        <Action label={t('cancel')} run={close} />
        <Action label={t('import')} kind="primary" disabled={path.value.trim() === ''} run={run} />
      </div>
    </Dialog>
  );
}
