/** The settings. Changes are saved at once. */

import { useSignal } from '@preact/signals';
import type { FunctionComponent } from 'preact';
import { useEffect, useId } from 'preact/hooks';
import type { Settings, SettingsChange } from '../../api-types.js';
import { Action, IconAction } from '../parts/button.js';
import { Dialog } from '../parts/dialog.js';
import { Page } from '../parts/page.js';
import { Select } from '../parts/select.js';
import { Line, Part, Switch } from '../parts/setting.js';
import { post } from '../state/api.js';
import { machine, refreshLibrary, saveSettings, settings, update, version } from '../state/app.js';
import { bytes } from '../state/format.js';
import { type Language, languages, t } from '../state/language.js';
import { attempt, notify } from '../state/notices.js';
import { setTo, setToText } from '../state/set-to.js';
import { ModelUpdates } from './model-updates.js';

export function SettingsView() {
  const current = settings.value;
  if (!current) return <Page title={t('viewSettings')}>{t('loading')}</Page>;
  return (
    <Page title={t('viewSettings')}>
      <div class="settings">
        <Appearance current={current} />
        <Server current={current} />
        <Models current={current} />
        <Hub current={current} />
        <Later load={async () => (await import('./mcp/mcp-part.js')).McpPart} />
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

const themes: readonly Settings['theme'][] = ['system', 'light', 'dark'];

function Appearance({ current }: PartProps) {
  return (
    <Part title={t('appearance')}>
      <Line label={t('colours')}>
        {(id) => (
          <Select
            id={id}
            value={current.theme}
            options={themes.map((theme) => [theme, t(theme)])}
            choose={(theme) => change({ theme: theme as Settings['theme'] })}
          />
        )}
      </Line>
      <Line label={t('language')}>
        {(id) => (
          <select
            id={id}
            value={current.language ?? ''}
            onChange={(event) => change({ language: (event.currentTarget.value || null) as Language | null })}
          >
            <option value="">{t('languageOfBrowser')}</option>
            {Object.entries(languages).map(([language, { name }]) => (
              <option key={language} value={language} lang={language}>
                {name}
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
    <Part title={t('server')}>
      <Line label={t('port')} help={t('portHelp')}>
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
        label={t('startWithApp')}
        help={t('startWithAppHelp')}
        on={current.startServerAtLaunch}
        set={(startServerAtLaunch) => change({ startServerAtLaunch })}
      />
      <Secret
        label={t('apiKey')}
        help={t(current.hasServerKey ? 'apiKeySet' : 'apiKeyUnset')}
        isSet={current.hasServerKey}
        placeholder={t('noLimit')}
        store={t('storeKey')}
        remove={t('removeKey')}
        save={async (serverKey) => {
          await saveSettings({ serverKey });
          notify('done', t(serverKey === null ? 'keyRemoved' : 'keyStored'));
        }}
      />
      <Switch
        label={t('logPrompts')}
        help={t('logPromptsHelp')}
        on={current.logPrompts}
        set={(logPrompts) => change({ logPrompts })}
      />
      <Later load={async () => (await import('./sharing/sharing-part.js')).SharingPart} />
    </Part>
  );
}

interface SecretProps {
  label: string;
  help: string;
  isSet: boolean;
  /** Shown if there is no stored secret. */
  placeholder: string;
  /** Labels of the buttons. */
  store: string;
  remove: string;
  /** Null removes it. */
  save: (secret: string | null) => Promise<void>;
}

/** A field for a secret, which is never shown again. */
function Secret({ label, help, isSet, placeholder, store, remove, save }: SecretProps) {
  const secret = useSignal('');
  const set = async (value: string | null) => {
    await save(value);
    secret.value = '';
  };
  return (
    <Line label={label} help={help}>
      {(id, helpId) => (
        <div class="row">
          <input
            id={id}
            type="password"
            autocomplete="off"
            placeholder={isSet ? t('stored') : placeholder}
            value={secret.value}
            aria-describedby={helpId}
            onInput={setToText(secret)}
          />
          <Action label={store} disabled={secret.value.trim() === ''} run={() => set(secret.value.trim())} />
          {isSet && <Action label={remove} kind="danger" run={() => set(null)} />}
        </div>
      )}
    </Line>
  );
}

const durations: readonly number[] = [0, 300, 600, 1800, 3600];

function wordsFor(seconds: number): string {
  if (seconds === 0) return t('never');
  if (seconds === 3600) return t('afterHour');
  return seconds % 60 === 0 ? t('afterMinutes', { count: seconds / 60 }) : t('afterSeconds', { count: seconds });
}

function Models({ current }: PartProps) {
  const others = durations.includes(current.ttl) ? [] : [current.ttl];
  return (
    <Part title={t('models')}>
      <Line label={t('unloadIdle')} help={t('unloadIdleHelp')}>
        {(id, helpId) => (
          <Select
            id={id}
            helpId={helpId}
            value={current.ttl}
            options={[...durations, ...others].map((seconds) => [seconds, wordsFor(seconds)])}
            choose={(seconds) => change({ ttl: Number(seconds) })}
          />
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
      <label for={id}>{t('modelFolders')}</label>
      <p class="help">{t('modelFoldersHelp')}</p>
      <ul>
        {folders.map((folder) => (
          <li key={folder}>
            <code>{folder}</code>
            <IconAction
              label={t('removeNamed', { name: folder })}
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
        <input id={id} type="text" placeholder={t('folderHint')} value={added.value} onInput={setToText(added)} />
        <button type="submit" disabled={added.value.trim() === ''}>
          {t('add')}
        </button>
      </form>
    </div>
  );
}

function Hub({ current }: PartProps) {
  const { hasHubToken, hubTokenEndpoint: address } = current;
  return (
    <Part title={t('modelHub')}>
      <Secret
        label={t('accessToken')}
        help={hasHubToken ? t('accessTokenSet', { address: address ?? '' }) : t('accessTokenUnset')}
        isSet={hasHubToken}
        placeholder="hf_…"
        store={t('storeToken')}
        remove={t('removeToken')}
        save={async (hubToken) => {
          await saveSettings({ hubToken });
          notify('done', t(hubToken === null ? 'tokenRemoved' : 'tokenStored'));
        }}
      />
      <Line label={t('address')} help={t('addressHelp')}>
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

/** A part with a script of its own, as few users need it. */
function Later({ load }: { load: () => Promise<FunctionComponent> }) {
  const Shown = useSignal<FunctionComponent>();
  const show = async () => {
    Shown.value = await load();
  };
  useEffect(() => void attempt(show), []);
  return Shown.value ? <Shown.value /> : null;
}

function Program({ current }: PartProps) {
  const asking = useSignal(false);
  const close = setTo(asking, false);
  return (
    <Part title={t('program')}>
      <Switch
        label={t('startAtLogin')}
        help={t('startAtLoginHelp')}
        on={current.startAtLogin}
        set={(startAtLogin) => change({ startAtLogin })}
      />
      <Switch
        label={t('keepAwake')}
        help={t('keepAwakeHelp')}
        on={current.preventSleep}
        set={(preventSleep) => change({ preventSleep })}
      />
      <Switch
        label={t('writeTitles')}
        help={t('writeTitlesHelp')}
        on={current.generateTitles}
        set={(generateTitles) => change({ generateTitles })}
      />
      <Switch
        label={t('checkForUpdates')}
        help={t('checkForUpdatesHelp')}
        on={current.checkForUpdates}
        set={(checkForUpdates) => change({ checkForUpdates })}
      />
      <Line label={t('quit')} help={t('quitHelp')}>
        {() => <Action label={t('quitChasqui')} kind="danger" run={setTo(asking, true)} />}
      </Line>
      {asking.value && (
        <Dialog title={t('quitQuestion')} close={close}>
          <p>{t('quitWarning')}</p>
          <div class="dialog-foot">
            <Action label={t('stay')} run={close} />
            <Action
              label={t('quit')}
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
    <Part title={t('thisComputer')}>
      <p>
        {t('coreCount', { count: cores })} · {t('ofMemory', { size: bytes(memoryBytes) })}
        {gpus.map(({ name, memoryBytes: size }) => ` · ${name}${size === null ? '' : ` (${bytes(size)})`}`)}
      </p>
      <p class="muted">chasqui {version.value}</p>
      {update.value && <p role="status">{t('newVersion', { version: update.value.version })}</p>}
      {update.value?.command && (
        <p>
          <code>{update.value.command}</code>
        </p>
      )}
    </Part>
  );
}
