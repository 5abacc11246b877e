import { useId } from 'preact/hooks';
import { Action, IconAction } from '../../parts/button.js';
import { first, sessions, togglePanel } from '../../state/chat-pages.js';
import { attempt } from '../../state/notices.js';
import { Export } from './history.js';

interface SamplingField {
  name: string;
  label: string;
  /** What the server takes where nothing is said. */
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
    help: 'How freely tokens are chosen; 0 always takes the most probable one.',
    min: 0,
    max: 2,
    step: 0.05,
  },
  {
    name: 'top_p',
    label: 'Top p',
    standard: '1',
    help: 'Chooses among the most probable tokens that together have this probability.',
    min: 0,
    max: 1,
    step: 0.01,
  },
  {
    name: 'top_k',
    label: 'Top k',
    standard: '40',
    help: 'Chooses among this many most probable tokens; 0 is all.',
    min: 0,
    step: 1,
  },
  {
    name: 'repeat_penalty',
    label: 'Repeat penalty',
    standard: '1',
    help: 'Above 1, makes tokens that were there lately less probable.',
    min: 0.1,
    max: 2,
    step: 0.01,
  },
  {
    name: 'presence_penalty',
    label: 'Presence penalty',
    standard: '0',
    help: 'Is subtracted from what was there lately.',
    min: -2,
    max: 2,
    step: 0.1,
  },
  {
    name: 'frequency_penalty',
    label: 'Frequency penalty',
    standard: '0',
    help: 'The same, for each time that it was there.',
    min: -2,
    max: 2,
    step: 0.1,
  },
  {
    name: 'max_tokens',
    label: 'Length limit',
    standard: 'none',
    help: 'The most tokens of a completion.',
    min: 1,
    step: 1,
  },
  {
    name: 'seed',
    label: 'Seed',
    standard: 'random',
    help: 'The same seed gives the same completion again.',
    min: 0,
    step: 1,
  },
];

/** The system prompt and the sampling of the chat; of both, where two stand side by side. */
export function ChatSettings() {
  const promptId = useId();
  const changed = Object.keys(first.settings.value).length > 0;
  return (
    <aside class="panel chat-settings" aria-label="Chat settings">
      <div class="panel-head">
        <h2>Chat settings</h2>
        <IconAction label="Close the settings" icon="close" run={() => togglePanel('settings')} />
      </div>
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
      <h3>Sampling</h3>
      {fields.map((field) => (
        <Sampling key={field.name} field={field} />
      ))}
      <Action
        label="All to defaults"
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
  const change = (event: { currentTarget: HTMLInputElement }) => {
    if (event.currentTarget.validity.valid) set(name, event.currentTarget.value);
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
        onInput={change}
        onChange={storeAll}
      />
      <p class="help" id={`${id}-help`}>
        {help}
      </p>
    </div>
  );
}

function set(name: string, text: string): void {
  for (const session of sessions.value) {
    const { [name]: _, ...others } = session.settings.value;
    session.settings.value = text === '' ? others : { ...others, [name]: Number(text) };
  }
}
