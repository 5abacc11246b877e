/** Settings of the output: reasoning, stop strings, JSON schema. */

import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { SelectField } from '../../parts/select.js';
import { chatModels } from '../../state/app.js';
import { first } from '../../state/chat-pages.js';
import { type MessageKey, t } from '../../state/language.js';

interface OutputSettingsProps {
  change: (name: string, value: unknown) => void;
  store: () => void;
}

interface TextField {
  name: string;
  label: MessageKey;
  help: MessageKey;
  show: (value: unknown) => string;
  /** Throws if the text is invalid. */
  read: (text: string) => unknown;
}

const texts: readonly TextField[] = [
  {
    name: 'stop',
    label: 'stopStrings',
    help: 'stopStringsHelp',
    show: (value) => [value ?? []].flat().join('\n'),
    read: (text) => text.split('\n').filter((line) => line !== ''),
  },
  {
    name: 'response_format',
    label: 'jsonSchema',
    help: 'jsonSchemaHelp',
    show: (value) => {
      const { json_schema } = value as { json_schema?: { schema?: unknown } };
      return json_schema?.schema === undefined ? '' : JSON.stringify(json_schema.schema, null, 2);
    },
    read: (text) => ({ type: 'json_schema', json_schema: { name: 'reply', schema: JSON.parse(text) } }),
  },
];

export function OutputSettings({ change, store }: OutputSettingsProps) {
  return (
    <>
      <Reasoning change={change} store={store} />
      {texts.map((field) => (
        <Text key={field.name} field={field} change={change} store={store} />
      ))}
    </>
  );
}

function Text({ field, change, store }: OutputSettingsProps & { field: TextField }) {
  const id = useId();
  const invalid = useSignal<{ text: string; reason: string } | null>(null);
  const { name, label, help, show, read } = field;
  const value = first.settings.value[name];
  const take = (text: string) => {
    invalid.value = null;
    try {
      change(name, text.trim() === '' ? undefined : read(text));
      store();
    } catch (problem) {
      invalid.value = { text, reason: t('notValid', { reason: (problem as Error).message }) };
    }
  };
  return (
    <div class="field">
      <label for={id}>{t(label)}</label>
      <textarea
        id={id}
        rows={2}
        spellcheck={false}
        value={invalid.value?.text ?? (value === undefined ? '' : show(value))}
        aria-describedby={`${id}-help`}
        aria-invalid={invalid.value !== null}
        onChange={(event) => take(event.currentTarget.value)}
      />
      <p class="help" id={`${id}-help`}>
        {invalid.value?.reason ?? t(help)}
      </p>
    </div>
  );
}

const LABELS = { off: 'off', on: 'on', low: 'lowEffort', medium: 'mediumEffort', high: 'highEffort' } as const;

/** Hidden if the chat template has no such variable. */
function Reasoning({ change, store }: OutputSettingsProps) {
  const model = chatModels.value.find(({ key }) => key === first.model.value);
  const { allowed_options: allowed = [] } = model?.capabilities.reasoning ?? {};
  if (allowed.length === 0) return null;
  const { reasoning_effort: effort, chat_template_kwargs: variables } = first.settings.value;
  const value = effort === 'none' ? 'off' : String(effort ?? (variables ? 'on' : ''));
  return (
    <SelectField
      label={t('reasoning')}
      value={value}
      options={[['', t('defaultOfModel')], ...allowed.map((option) => [option, t(LABELS[option])] as const)]}
      choose={(chosen) => {
        change('chat_template_kwargs', chosen === 'on' ? { enable_thinking: true } : undefined);
        change('reasoning_effort', chosen === 'off' ? 'none' : chosen === 'on' ? undefined : chosen || undefined);
        store();
      }}
    />
  );
}
