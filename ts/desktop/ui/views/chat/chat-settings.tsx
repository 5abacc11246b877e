import { useId } from 'preact/hooks';
import { Action, IconAction } from '../../parts/button.js';
import { first, sessions, togglePanel } from '../../state/chat-pages.js';
import { attempt } from '../../state/notices.js';
import { Export } from './history.js';
import { OutputSettings } from './output-settings.js';
import { Presets } from './presets.js';

interface SamplingField {
  name: string;
  label: string;
  /** Default of the server. */
  standard: string;
  help: string;
  min: number;
  max?: number;
  step: number;
}

const fields: readonly SamplingField[] = [
  {
    name: 'temperature',
    label: 'Temperature',
    standard: '1',
    help: 'Sampling temperature; 0 is greedy.',
    min: 0,
    max: 2,
    step: 0.05,
  },
  {
    name: 'top_p',
    label: 'Top p',
    standard: '1',
    help: 'Samples from the most probable tokens with this total probability.',
    min: 0,
    max: 1,
    step: 0.01,
  },
  {
    name: 'top_k',
    label: 'Top k',
    standard: '40',
    help: 'Samples from this many most probable tokens; 0 for all.',
    min: 0,
    step: 1,
  },
  {
    name: 'repeat_penalty',
    label: 'Repeat penalty',
    standard: '1',
    help: 'Above 1, recent tokens become less probable.',
    min: 0.1,
    max: 2,
    step: 0.01,
  },
  {
    name: 'presence_penalty',
    label: 'Presence penalty',
    standard: '0',
    help: 'Subtracted from the logits of recent tokens.',
    min: -2,
    max: 2,
    step: 0.1,
  },
  {
    name: 'frequency_penalty',
    label: 'Frequency penalty',
    standard: '0',
    help: 'Subtracted once per occurrence of a recent token.',
    min: -2,
    max: 2,
    step: 0.1,
  },
  {
    name: 'max_tokens',
    label: 'Length limit',
    standard: 'none',
    help: 'Maximum number of tokens in a completion.',
    min: 1,
    step: 1,
  },
  {
    name: 'seed',
    label: 'Seed',
    standard: 'random',
    help: 'The same seed reproduces a completion.',
    min: 0,
    step: 1,
  },
];

/** System prompt and sampling of the chat, or of both chats when comparing. */
export function ChatSettings() {
  const promptId = useId();
  const fullId = useId();
  const changed = Object.keys(first.settings.value).length > 0;
  return (
    <aside class="panel chat-settings" aria-label="Chat settings">
      <div class="panel-head">
        <h2>Chat settings</h2>
        <IconAction label="Close the settings" icon="close" run={() => togglePanel('settings')} />
      </div>
      <Presets store={storeAll} />
      <div class="field">
        <label for={promptId}>System prompt</label>
        <textarea
          id={promptId}
          rows={5}
          placeholder="How the model should behave"
          value={first.systemPrompt.value}
          onInput={(event) => {
            for (const session of sessions.value) session.systemPrompt.value = event.currentTarget.value;
          }}
          onChange={storeAll}
        />
      </div>
      <div class="field">
        <label for={fullId}>When the context is full</label>
        <select
          id={fullId}
          value={String(first.settings.value.whenFull ?? '')}
          onChange={(event) => {
            change('whenFull', event.currentTarget.value || undefined);
            storeAll();
          }}
        >
          <option value="">Ask</option>
          <option value="rolling">Leave out the oldest messages</option>
          <option value="summary">Summarize the oldest messages</option>
        </select>
      </div>
      <OutputSettings change={change} store={storeAll} />
      <h3>Sampling</h3>
      {fields.map((field) => (
        <Sampling key={field.name} field={field} />
      ))}
      <Action
        label="Reset all"
        kind="quiet"
        disabled={!changed}
        run={() => {
          for (const session of sessions.value) session.settings.value = {};
          storeAll();
        }}
      />
      {first.id.value !== null && (
        <>
          <h3>This chat</h3>
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
      <label for={id}>{label}</label>
      <input
        id={id}
        type="number"
        min={min}
        max={max}
        step={step}
        placeholder={standard}
        value={value === undefined ? '' : String(value)}
        aria-describedby={`${id}-help`}
        onInput={take}
        onChange={storeAll}
      />
      <p class="help" id={`${id}-help`}>
        {help}
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
