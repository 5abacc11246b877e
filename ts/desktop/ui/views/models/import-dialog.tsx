import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { Action } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { post } from '../../state/api.js';
import { refreshLibrary } from '../../state/app.js';
import { notify } from '../../state/notices.js';

const ways: readonly [how: string, label: string][] = [
  ['link', 'Hard link: no extra space, same disk only'],
  ['symlink', 'Symbolic link: the file stays where it is'],
  ['copy', 'Copy'],
];

export function ImportDialog({ close }: { close: () => void }) {
  const path = useSignal('');
  const how = useSignal('link');
  const [pathId, howId] = [useId(), useId()];
  const run = async () => {
    await post('/models/import', { path: path.value.trim(), how: how.value });
    close();
    await refreshLibrary();
    notify('done', 'The model is imported.');
  };
  return (
    <Dialog title="Import a GGUF file" close={close}>
      <div class="form">
        <div class="field">
          <label for={pathId}>Path of the file</label>
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
          <label for={howId}>How</label>
          <select
            id={howId}
            value={how.value}
            onChange={(event) => {
              how.value = event.currentTarget.value;
            }}
          >
            {ways.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </div>
        <p class="help">For many files, add their folder in Settings instead.</p>
      </div>
      <div class="dialog-foot">
        <Action label="Cancel" run={close} />
        <Action label="Import" kind="primary" disabled={path.value.trim() === ''} run={run} />
      </div>
    </Dialog>
  );
}
