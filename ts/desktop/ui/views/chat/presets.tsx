import { useSignal } from '@preact/signals';
import { FileAction, IconAction } from '../../parts/button.js';
import { NameDialog } from '../../parts/name-dialog.js';
import { SelectField } from '../../parts/select.js';
import { Switch } from '../../parts/setting.js';
import { settings } from '../../state/app.js';
import { first, sessions } from '../../state/chat-pages.js';
import { t } from '../../state/language.js';
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
      <SelectField
        label={t('preset')}
        value={shown ?? ''}
        options={[
          ['', t(presets.value.length > 0 ? 'none' : 'noPresets')],
          ...presets.value.map((preset) => [preset.name, preset.name] as const),
        ]}
        choose={choose}
      />
      <div class="row">
        <IconAction label={t('saveAsPreset')} icon="plus" run={() => name(true)} />
        {shown && <IconAction label={t('deletePreset')} icon="trash" run={() => deletePreset(shown)} />}
        {shown && <IconAction label={t('exportPresets')} icon="export" run={exportPresets} />}
        <FileAction label={t('importPresets')} icon="folder" accept=".json" take={takePresets} />
      </div>
      {shown && model && (
        <Switch
          label={t('useForNewChats', { model })}
          on={settings.value?.modelPresets[model] === shown}
          set={(on) => void attempt(() => setDefaultPreset(model, on ? shown : undefined))}
        />
      )}
      {naming.value && (
        <NameDialog
          title={t('saveAsPreset')}
          field={t('name')}
          name={shown ?? ''}
          maxLength={100}
          action={t('save')}
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
