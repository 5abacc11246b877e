/** The models on this computer. */
import { useSignal } from '@preact/signals';
import { Action } from '../../parts/button.js';
import { Empty, Page } from '../../parts/page.js';
import { library, loadedModels } from '../../state/app.js';
import { bytes, count } from '../../state/format.js';
import { go } from '../../state/route.js';
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
    <Page
      title="My Models"
      actions={
        <Action
          label="Import a file"
          icon="plus"
          run={() => {
            importing.value = true;
          }}
        />
      }
    >
      {importing.value && (
        <ImportDialog
          close={() => {
            importing.value = false;
          }}
        />
      )}
      {library.value && all.length === 0 ? (
        <Empty title="No models yet">
          <p>Models of LM Studio, Ollama and llama.cpp are found automatically.</p>
          <Action label="Find a model" icon="search" kind="primary" run={() => go('search')} />
        </Empty>
      ) : (
        <>
          <div class="models-bar">
            <input
              type="search"
              aria-label="Filter models"
              placeholder="Filter"
              value={text.value}
              onInput={(event) => {
                text.value = event.currentTarget.value;
              }}
            />
            <p class="muted">
              {count(all.length)} models · {bytes(disk)} on disk
              {memory > 0 && ` · ${bytes(memory)} in memory`}
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
