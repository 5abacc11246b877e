import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LoadConfig } from '../../../api-types.js';
import { Action } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { FitMeter } from '../../parts/fit-meter.js';
import { OptionForm } from '../../parts/option-form.js';
import { loadModel, loadOptions, options, saveSettings, settings } from '../../state/app.js';
import { notify } from '../../state/notices.js';

/** What a model is loaded with whenever nothing else is said. */
export function DefaultsDialog({ model, close }: { model: string; close: () => void }) {
  const values = useSignal<LoadConfig>({ ...settings.value?.modelDefaults[model] });
  useEffect(() => void loadOptions().catch(() => {}), []);
  const set = (name: string, value: unknown) => {
    const { [name]: _, ...others } = values.value;
    values.value = value === undefined ? others : { ...others, [name]: value };
  };
  const save = async () => {
    const { [model]: _, ...others } = settings.value?.modelDefaults ?? {};
    const own = Object.keys(values.value).length > 0 ? { [model]: values.value } : {};
    await saveSettings({ modelDefaults: { ...others, ...own } });
    close();
    notify('done', 'Saved. They hold from the next load on.');
  };
  return (
    <Dialog title="Load settings" close={close}>
      <p class="muted">{model}</p>
      <FitMeter model={model} context={values.value.contextSize} />
      <OptionForm rows={options.value} values={values.value} set={set} />
      <div class="dialog-foot">
        <Action
          label="Load once with these"
          run={async () => {
            close();
            await loadModel(model, values.value);
          }}
        />
        <Action label="Save as defaults" kind="primary" run={save} />
      </div>
    </Dialog>
  );
}
