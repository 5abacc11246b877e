import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LoadConfig, Settings } from '../../../api-types.js';
import { Action } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { FitMeter } from '../../parts/fit-meter.js';
import { OptionForm } from '../../parts/option-form.js';
import { SelectField } from '../../parts/select.js';
import { loadOptions, options, saveSettings, settings } from '../../state/app.js';
import { loadOrMend } from '../../state/developer.js';
import { t } from '../../state/language.js';
import { notify } from '../../state/notices.js';

type Keep = Settings['modelKeeps'][string];

const keeps: readonly Keep[] = [300, 1800, 0, 'pinned'];

function wordsFor(keep: Keep): string {
  if (keep === 'pinned') return t('alwaysKeep');
  if (keep === 0) return t('keepUntilNeeded');
  return keep % 60 === 0 ? t('unloadAfterMinutes', { count: keep / 60 }) : t('unloadAfterSeconds', { count: keep });
}

/** Idle behaviour of the model. */
function KeepField({ value, set }: { value: Keep | undefined; set: (value: Keep | undefined) => void }) {
  const others = value === undefined || keeps.includes(value) ? [] : [value];
  return (
    <SelectField
      label={t('whenIdle')}
      value={String(value ?? '')}
      options={[['', t('default')], ...[...keeps, ...others].map((keep) => [keep, wordsFor(keep)] as const)]}
      choose={(text) => set(text === '' ? undefined : text === 'pinned' ? text : Number(text))}
    />
  );
}

export function DefaultsDialog({ model, close }: { model: string; close: () => void }) {
  const values = useSignal<LoadConfig>({ ...settings.value?.modelDefaults[model] });
  const keep = useSignal<Keep | undefined>(settings.value?.modelKeeps[model]);
  useEffect(() => void loadOptions().catch(() => {}), []);
  const set = (name: string, value: unknown) => {
    const { [name]: _, ...others } = values.value;
    values.value = value === undefined ? others : { ...others, [name]: value };
  };
  const save = async () => {
    const { [model]: _, ...others } = settings.value?.modelDefaults ?? {};
    const own = Object.keys(values.value).length > 0 ? { [model]: values.value } : {};
    const { [model]: _keep, ...otherKeeps } = settings.value?.modelKeeps ?? {};
    const ownKeep = keep.value === undefined ? {} : { [model]: keep.value };
    await saveSettings({ modelDefaults: { ...others, ...own }, modelKeeps: { ...otherKeeps, ...ownKeep } });
    close();
    notify('done', t('savedForNextLoad'));
  };
  return (
    <Dialog title={t('loadSettings')} close={close}>
      <p class="muted">{model}</p>
      <FitMeter model={model} context={values.value.contextSize} take={(context) => set('contextSize', context)} />
      <KeepField
        value={keep.value}
        set={(value) => {
          keep.value = value;
        }}
      />
      <OptionForm rows={options.value} values={values.value} set={set} />
      <div class="dialog-foot">
        <Action
          label={t('loadOnce')}
          run={async () => {
            close();
            await loadOrMend(model, values.value);
          }}
        />
        <Action label={t('saveAsDefaults')} kind="primary" run={save} />
      </div>
    </Dialog>
  );
}
