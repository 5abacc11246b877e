/** The settings. Changes are saved at once. */
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import type { Settings, SettingsChange } from '../../api-types.js';
import { Action, IconAction } from '../parts/button.js';
import { Dialog } from '../parts/dialog.js';
import { Page } from '../parts/page.js';
import { Line, Part, Switch } from '../parts/setting.js';
import { post } from '../state/api.js';
import { machine, refreshLibrary, saveSettings, settings, version } from '../state/app.js';
import { bytes } from '../state/format.js';
import { attempt, notify } from '../state/notices.js';
import { ModelUpdates } from './model-updates.js';

export function SettingsView() {
  const current = settings.value;
  if (!current) return <Page title="Settings">Loading …</Page>;
  return (
    <Page title="Settings">
      <div class="settings">
        <Appearance current={current} />
        <Server current={current} />
        <Models current={current} />
        <Hub current={current} />
        <Program current={current} />
        <About />
      </div>
    </Page>
  );
}

interface PartProps {
  current: Settings;
}

function change(values: SettingsChange): void {
  void attempt(() => saveSettings(values));
}

const themes: readonly [theme: Settings['theme'], label: string][] = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

function Appearance({ current }: PartProps) {
  return (
    <Part title="Appearance">
      <Line label="Colours">
        {(id) => (
          <select
            id={id}
            value={current.theme}
            onChange={(event) => change({ theme: event.currentTarget.value as Settings['theme'] })}
          >
            {themes.map(([theme, label]) => (
              <option key={theme} value={theme}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Line>
    </Part>
  );
}

function Server({ current }: PartProps) {
  return (
    <Part title="Server">
      <Line label="Port" help="Port of the server. Most programs expect 1234.">
        {(id, helpId) => (
          <input
            id={id}
            class="short"
            type="number"
            min={1}
            max={65535}
            value={current.port}
            aria-describedby={helpId}
            onChange={(event) => {
              const { validity, valueAsNumber } = event.currentTarget;
              if (validity.valid && valueAsNumber) change({ port: valueAsNumber });
            }}
          />
        )}
      </Line>
      <Switch
        label="Start the server with the app"
        help="With the model of its last start."
        on={current.startServerAtLaunch}
        set={(startServerAtLaunch) => change({ startServerAtLaunch })}
      />
      <ServerKey isSet={current.hasServerKey} />
      <Switch
        label="Keep prompts in the log"
        help="Otherwise the log contains metadata only."
        on={current.logPrompts}
        set={(logPrompts) => change({ logPrompts })}
      />
    </Part>
  );
}

function ServerKey({ isSet }: { isSet: boolean }) {
  const key = useSignal('');
  const save = async (serverKey: string | null) => {
    await saveSettings({ serverKey });
    key.value = '';
    notify(
      'done',
      `${serverKey === null ? 'No key is required' : 'The key is required'} from the next start of the server.`,
    );
  };
  return (
    <Line
      label="API key"
      help={isSet ? 'Clients need the stored key.' : 'Without a key, any program on this computer may use the server.'}
    >
      {(id, helpId) => (
        <div class="row">
          <input
            id={id}
            type="password"
            autocomplete="off"
            placeholder={isSet ? 'stored' : 'none'}
            value={key.value}
            aria-describedby={helpId}
            onInput={(event) => {
              key.value = event.currentTarget.value;
            }}
          />
          <Action label="Store key" disabled={key.value.trim() === ''} run={() => save(key.value.trim())} />
          {isSet && <Action label="Remove key" kind="danger" run={() => save(null)} />}
        </div>
      )}
    </Line>
  );
}

const durations: readonly [seconds: number, label: string][] = [
  [0, 'Never'],
  [300, 'After 5 minutes'],
  [600, 'After 10 minutes'],
  [1800, 'After 30 minutes'],
  [3600, 'After an hour'],
];

function Models({ current }: PartProps) {
  const others = durations.some(([seconds]) => seconds === current.ttl) ? [] : [current.ttl];
  return (
    <Part title="Models">
      <Line label="Unload idle models" help="Frees their memory; the next request loads them again.">
        {(id, helpId) => (
          <select
            id={id}
            value={current.ttl}
            aria-describedby={helpId}
            onChange={(event) => change({ ttl: Number(event.currentTarget.value) })}
          >
            {durations.map(([seconds, label]) => (
              <option key={seconds} value={seconds}>
                {label}
              </option>
            ))}
            {others.map((seconds) => (
              <option key={seconds} value={seconds}>
                After {seconds} seconds
              </option>
            ))}
          </select>
        )}
      </Line>
      <Folders folders={current.modelFolders} />
      <ModelUpdates />
    </Part>
  );
}

function Folders({ folders }: { folders: readonly string[] }) {
  const added = useSignal('');
  const id = useId();
  const save = (modelFolders: string[]) =>
    attempt(async () => {
      await saveSettings({ modelFolders });
      await refreshLibrary();
    });
  const add = async () => {
    const folder = added.value.trim();
    if (folder && (await save([...folders, folder]))) added.value = '';
  };
  return (
    <div class="folders">
      <label for={id}>Folders with models</label>
      <p class="help">In addition to the folders of Hugging Face, LM Studio and Ollama.</p>
      <ul>
        {folders.map((folder) => (
          <li key={folder}>
            <code>{folder}</code>
            <IconAction
              label={`Remove ${folder}`}
              icon="close"
              run={() => save(folders.filter((each) => each !== folder))}
            />
          </li>
        ))}
      </ul>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <input
          id={id}
          type="text"
          placeholder="/path/of/a/folder"
          value={added.value}
          onInput={(event) => {
            added.value = event.currentTarget.value;
          }}
        />
        <button type="submit" disabled={added.value.trim() === ''}>
          Add
        </button>
      </form>
    </div>
  );
}

function Hub({ current }: PartProps) {
  const token = useSignal('');
  const save = async (hubToken: string | null) => {
    await saveSettings({ hubToken });
    token.value = '';
    notify('done', hubToken === null ? 'Token removed.' : 'Token stored.');
  };
  return (
    <Part title="Model hub">
      <Line
        label="Access token"
        help={
          current.hasHubToken
            ? `A token for ${current.hubTokenEndpoint} is stored. It is sent to that address only.`
            : 'For gated and private models. Create one on the hub under Settings, Access Tokens.'
        }
      >
        {(id, helpId) => (
          <div class="row">
            <input
              id={id}
              type="password"
              autocomplete="off"
              placeholder={current.hasHubToken ? 'stored' : 'hf_…'}
              value={token.value}
              aria-describedby={helpId}
              onInput={(event) => {
                token.value = event.currentTarget.value;
              }}
            />
            <Action label="Store token" disabled={token.value.trim() === ''} run={() => save(token.value.trim())} />
            {current.hasHubToken && <Action label="Remove token" kind="danger" run={() => save(null)} />}
          </div>
        )}
      </Line>
      <Line
        label="Address"
        help="URL of a mirror; empty for the environment's setting or huggingface.co. A token stored afterwards belongs to the mirror."
      >
        {(id, helpId) => (
          <input
            id={id}
            type="url"
            placeholder="https://huggingface.co"
            value={current.hubEndpoint ?? ''}
            aria-describedby={helpId}
            onChange={(event) => {
              const { validity, value } = event.currentTarget;
              if (validity.valid) change({ hubEndpoint: value.trim() || null });
            }}
          />
        )}
      </Line>
    </Part>
  );
}

function Program({ current }: PartProps) {
  const asking = useSignal(false);
  const close = () => {
    asking.value = false;
  };
  return (
    <Part title="Program">
      <Switch
        label="Start at login"
        help="Without a window. The server starts if it was running."
        on={current.startAtLogin}
        set={(startAtLogin) => change({ startAtLogin })}
      />
      <Switch
        label="Keep the computer awake while it works"
        help="While a download or a completion is running."
        on={current.preventSleep}
        set={(preventSleep) => change({ preventSleep })}
      />
      <Switch
        label="Let models write the titles of chats"
        help="After the first completion. Otherwise a chat keeps its first words as the title."
        on={current.generateTitles}
        set={(generateTitles) => change({ generateTitles })}
      />
      <Line label="Quit" help="Closing the window keeps the server; quitting lets running requests finish and ends it.">
        {() => (
          <Action
            label="Quit chasqui"
            kind="danger"
            run={() => {
              asking.value = true;
            }}
          />
        )}
      </Line>
      {asking.value && (
        <Dialog title="Quit chasqui?" close={close}>
          <p>Running requests finish first. Downloads resume at the next start.</p>
          <div class="dialog-foot">
            <Action label="Stay" run={close} />
            <Action
              label="Quit"
              kind="danger"
              run={async () => {
                await post('/quit');
                close();
              }}
            />
          </div>
        </Dialog>
      )}
    </Part>
  );
}

function About() {
  const { cores, memoryBytes, gpus } = machine.value;
  return (
    <Part title="This computer">
      <p>
        {cores} cores · {bytes(memoryBytes)} of memory
        {gpus.map(({ name, memoryBytes: size }) => ` · ${name}${size === null ? '' : ` (${bytes(size)})`}`)}
      </p>
      <p class="muted">chasqui {version.value}</p>
    </Part>
  );
}
