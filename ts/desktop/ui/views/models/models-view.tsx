/** The models on this computer. */

import { useSignal } from '@preact/signals';
import { Action } from '../../parts/button.js';
import { Empty, Page } from '../../parts/page.js';
import { library, loadedModels } from '../../state/app.js';
import { bytes } from '../../state/format.js';
import { t } from '../../state/language.js';
import { go } from '../../state/route.js';
import { setTo, setToText } from '../../state/set-to.js';
import { ImportDialog } from './import-dialog.js';
import { ModelRow } from './model-row.js';

export function ModelsView() {
  const text = useSignal('');
  const importing = useSignal(false);
  const all = library.value ?? [];
  const wanted = text.value.trim().toLowerCase();
  const shown = all.filter((model) => `${model.key} ${model.architecture}`.toLowerCase().includes(wanted));
  const disk = all.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  const memory = loadedModels.value.reduce((sum, { memoryBytes }) => sum + (memoryBytes ?? 0), 0);
  return (
    <Page title={t('viewModels')} actions={<Action label={t('importFile')} icon="plus" run={setTo(importing, true)} />}>
      {importing.value && <ImportDialog close={setTo(importing, false)} />}
      {library.value && all.length === 0 ? (
        <Empty title={t('noModels')}>
          <p>{t('foundAutomatically')}</p>
          <Action label={t('findModel')} icon="search" kind="primary" run={() => go('search')} />
        </Empty>
      ) : (
        <>
          <div class="models-bar">
            <input
              type="search"
              aria-label={t('filterModels')}
              placeholder={t('filter')}
              value={text.value}
              onInput={setToText(text)}
            />
            <p class="muted">
              {t('modelCount', { count: all.length })} · {t('onDisk', { size: bytes(disk) })}
              {memory > 0 && ` · ${t('inMemory', { size: bytes(memory) })}`}
            </p>
          </div>
          <ul class="model-list">
            {shown.map((model) => (
              <ModelRow key={model.key} model={model} />
            ))}
          </ul>
        </>
      )}
    </Page>
  );
}
