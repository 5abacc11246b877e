import { useId } from 'preact/hooks';
import { Action, IconAction } from '../../parts/button.js';
import { SelectField } from '../../parts/select.js';
import { first, sessions, togglePanel } from '../../state/chat-pages.js';
import { type MessageKey, t } from '../../state/language.js';
import { attempt } from '../../state/notices.js';
import { Export } from './history.js';
import { OutputSettings } from './output-settings.js';
import { Presets } from './presets.js';
import { ToolSettings } from './tool-settings.js';

interface SamplingField {
  name: string;
  label: MessageKey;
  /** Default of the server. */
  standard: number | MessageKey;
  help: MessageKey;
  min: number;
  max?: number;
  step: number;
}

const fields: readonly SamplingField[] = [
  {
    name: 'temperature',
    label: 'temperature',
    standard: 1,
    help: 'temperatureHelp',
    min: 0,
    max: 2,
    step: 0.05,
  },
  {
    name: 'top_p',
    label: 'topP',
    standard: 1,
    help: 'topPHelp',
    min: 0,
    max: 1,
    step: 0.01,
  },
  {
    name: 'top_k',
    label: 'topK',
    standard: 40,
    help: 'topKHelp',
    min: 0,
    step: 1,
  },
  {
    name: 'repeat_penalty',
    label: 'repeatPenalty',
    standard: 1,
    help: 'repeatPenaltyHelp',
    min: 0.1,
    max: 2,
    step: 0.01,
  },
  {
    name: 'presence_penalty',
    label: 'presencePenalty',
    standard: 0,
    help: 'presencePenaltyHelp',
    min: -2,
    max: 2,
    step: 0.1,
  },
  {
    name: 'frequency_penalty',
    label: 'frequencyPenalty',
    standard: 0,
    help: 'frequencyPenaltyHelp',
    min: -2,
    max: 2,
    step: 0.1,
  },
  {
    name: 'max_tokens',
    label: 'lengthLimit',
    standard: 'noLimit',
    help: 'lengthLimitHelp',
    min: 1,
    step: 1,
  },
  {
    name: 'seed',
    label: 'seed',
    standard: 'random',
    help: 'seedHelp',
    min: 0,
    step: 1,
  },
];

/** System prompt and sampling of the chat, or of both chats when comparing. */
export function ChatSettings() {
  const promptId = useId();
  const changed = Object.keys(first.settings.value).length > 0;
  return (
    <aside class="panel chat-settings" aria-label={t('chatSettings')}>
      <div class="panel-head">
        <h2>{t('chatSettings')}</h2>
        <IconAction label={t('closeSettings')} icon="close" run={() => togglePanel('settings')} />
      </div>
      <Presets store={storeAll} />
      <div class="field">
        <label for={promptId}>{t('systemPrompt')}</label>
        <textarea
          id={promptId}
          rows={5}
          placeholder={t('systemPromptHint')}
          value={first.systemPrompt.value}
          onInput={(event) => {
            for (const session of sessions.value) session.systemPrompt.value = event.currentTarget.value;
          }}
          onChange={storeAll}
        />
      </div>
      <SelectField
        label={t('whenFull')}
        value={String(first.settings.value.whenFull ?? '')}
        options={[
          ['', t('ask')],
          ['rolling', t('leaveOutOldest')],
          ['summary', t('summarizeOldest')],
        ]}
        choose={(chosen) => {
          change('whenFull', chosen || undefined);
          storeAll();
        }}
      />
      <SelectField
        label={t('longFiles')}
        value={String(first.settings.value.longFiles ?? '')}
        options={[
          ['', t('ask')],
          ['passages', t('usePassages')],
          ['start', t('useBeginnings')],
        ]}
        choose={(chosen) => {
          change('longFiles', chosen || undefined);
          storeAll();
        }}
      />
      <ToolSettings />
      <OutputSettings change={change} store={storeAll} />
      <h3>{t('sampling')}</h3>
      {fields.map((field) => (
        <Sampling key={field.name} field={field} />
      ))}
      <Action
        label={t('resetAll')}
        kind="quiet"
        disabled={!changed}
        run={() => {
          for (const session of sessions.value) session.settings.value = {};
          storeAll();
        }}
      />
      {first.id.value !== null && (
        <>
          <h3>{t('thisChat')}</h3>
          <div class="row">
            <Export id={first.id.value} format="md" label="Markdown" />
            <Export id={first.id.value} format="json" label="JSON" />
          </div>
        </>
      )}
    </aside>
  );
}

function storeAll(): void {
  void attempt(() => Promise.all(sessions.value.map((session) => session.store())));
}

function Sampling({ field }: { field: SamplingField }) {
  const id = useId();
  const { name, label, standard, help, min, max, step } = field;
  const value = first.settings.value[name];
  const take = ({ currentTarget: { validity, value: text } }: { currentTarget: HTMLInputElement }) => {
    if (validity.valid) change(name, text === '' ? undefined : Number(text));
  };
  return (
    <div class="sampling">
      <label for={id}>{t(label)}</label>
      <input
        id={id}
        type="number"
        min={min}
        max={max}
        step={step}
        placeholder={typeof standard === 'number' ? String(standard) : t(standard)}
        value={value === undefined ? '' : String(value)}
        aria-describedby={`${id}-help`}
        onInput={take}
        onChange={storeAll}
      />
      <p class="help" id={`${id}-help`}>
        {t(help)}
      </p>
    </div>
  );
}

function change(name: string, value: unknown): void {
  for (const session of sessions.value) {
    const { [name]: _, ...others } = session.settings.value;
    session.settings.value = value === undefined ? others : { ...others, [name]: value };
  }
}
