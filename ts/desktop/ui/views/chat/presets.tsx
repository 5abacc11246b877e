import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { FileAction, IconAction } from '../../parts/button.js';
import { NameDialog } from '../../parts/name-dialog.js';
import { Switch } from '../../parts/setting.js';
import { settings } from '../../state/app.js';
import { first, sessions } from '../../state/chat-pages.js';
import { attempt } from '../../state/notices.js';
import {
  applyPreset,
  deletePreset,
  exportPresets,
  importPresets,
  presetOf,
  presets,
  savePreset,
  setDefaultPreset,
} from '../../state/presets.js';

/** Chooses, saves and deletes presets. `store` saves the chats. */
export function Presets({ store }: { store: () => void }) {
  const id = useId();
  const naming = useSignal(false);
  const shown = presetOf(first)?.name;
  const model = first.model.value;
  const name = (on: boolean) => {
    naming.value = on;
  };
  const choose = (chosen: string) => {
    const preset = presets.value.find((each) => each.name === chosen);
    if (preset) for (const session of sessions.value) applyPreset(session, preset);
    store();
  };
  return (
    <>
      <div class="field">
        <label for={id}>Preset</label>
        <select id={id} value={shown ?? ''} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">{presets.value.length > 0 ? 'None' : 'No presets yet'}</option>
          {presets.value.map((preset) => (
            <option key={preset.name} value={preset.name}>
              {preset.name}
            </option>
          ))}
        </select>
      </div>
      <div class="row">
        <IconAction label="Save as preset" icon="plus" run={() => name(true)} />
        {shown && <IconAction label="Delete preset" icon="trash" run={() => deletePreset(shown)} />}
        {shown && <IconAction label="Export presets" icon="export" run={exportPresets} />}
        <FileAction label="Import presets" icon="folder" accept=".json" take={takePresets} />
      </div>
      {shown && model && (
        <Switch
          label={`Use for new chats with ${model}`}
          on={settings.value?.modelPresets[model] === shown}
          set={(on) => void attempt(() => setDefaultPreset(model, on ? shown : undefined))}
        />
      )}
      {naming.value && (
        <NameDialog
          title="Save as preset"
          field="Name"
          name={shown ?? ''}
          maxLength={100}
          action="Save"
          save={(text) => savePreset(text, first)}
          close={() => name(false)}
        />
      )}
    </>
  );
}

async function takePresets(files: readonly File[]): Promise<void> {
  for (const file of files) await importPresets(file);
}
