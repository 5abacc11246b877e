/** The settings. Changes are saved at once. */

import { useSignal } from '@preact/signals';
import type { FunctionComponent } from 'preact';
import { useEffect, useId } from 'preact/hooks';
import type { Settings, SettingsChange } from '../../api-types.js';
import { Action, IconAction } from '../parts/button.js';
import { Dialog } from '../parts/dialog.js';
import { Page } from '../parts/page.js';
import { Line, Part, Switch } from '../parts/setting.js';
import { post } from '../state/api.js';
import { machine, refreshLibrary, saveSettings, settings, version } from '../state/app.js';
import { bytes } from '../state/format.js';
import { type Language, languages, t } from '../state/language.js';
import { attempt, notify } from '../state/notices.js';
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
        <Mcp />
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
          <select
            id={id}
            value={current.theme}
            onChange={(event) => change({ theme: event.currentTarget.value as Settings['theme'] })}
          >
            {themes.map((theme) => (
              <option key={theme} value={theme}>
                {t(theme)}
              </option>
            ))}
          </select>
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
      <ServerKey isSet={current.hasServerKey} />
      <Switch
        label={t('logPrompts')}
        help={t('logPromptsHelp')}
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
    notify('done', t(serverKey === null ? 'keyRemoved' : 'keyStored'));
  };
  return (
    <Line label={t('apiKey')} help={t(isSet ? 'apiKeySet' : 'apiKeyUnset')}>
      {(id, helpId) => (
        <div class="row">
          <input
            id={id}
            type="password"
            autocomplete="off"
            placeholder={t(isSet ? 'stored' : 'noLimit')}
            value={key.value}
            aria-describedby={helpId}
            onInput={(event) => {
              key.value = event.currentTarget.value;
            }}
          />
          <Action label={t('storeKey')} disabled={key.value.trim() === ''} run={() => save(key.value.trim())} />
          {isSet && <Action label={t('removeKey')} kind="danger" run={() => save(null)} />}
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
          <select
            id={id}
            value={current.ttl}
            aria-describedby={helpId}
            onChange={(event) => change({ ttl: Number(event.currentTarget.value) })}
          >
            {[...durations, ...others].map((seconds) => (
              <option key={seconds} value={seconds}>
                {wordsFor(seconds)}
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
        <input
          id={id}
          type="text"
          placeholder={t('folderHint')}
          value={added.value}
          onInput={(event) => {
            added.value = event.currentTarget.value;
          }}
        />
        <button type="submit" disabled={added.value.trim() === ''}>
          {t('add')}
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
    notify('done', t(hubToken === null ? 'tokenRemoved' : 'tokenStored'));
  };
  return (
    <Part title={t('modelHub')}>
      <Line
        label={t('accessToken')}
        help={
          current.hasHubToken ? t('accessTokenSet', { address: current.hubTokenEndpoint ?? '' }) : t('accessTokenUnset')
        }
      >
        {(id, helpId) => (
          <div class="row">
            <input
              id={id}
              type="password"
              autocomplete="off"
              placeholder={current.hasHubToken ? t('stored') : 'hf_…'}
              value={token.value}
              aria-describedby={helpId}
              onInput={(event) => {
                token.value = event.currentTarget.value;
              }}
            />
            <Action label={t('storeToken')} disabled={token.value.trim() === ''} run={() => save(token.value.trim())} />
            {current.hasHubToken && <Action label={t('removeToken')} kind="danger" run={() => save(null)} />}
          </div>
        )}
      </Line>
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

/** A script of its own, as few users need it. */
function Mcp() {
  const Shown = useSignal<FunctionComponent>();
  const load = async () => {
    const { McpPart } = await import('./mcp/mcp-part.js');
    Shown.value = McpPart;
  };
  useEffect(() => void attempt(load), []);
  return Shown.value ? <Shown.value /> : null;
}

function Program({ current }: PartProps) {
  const asking = useSignal(false);
  const close = () => {
    asking.value = false;
  };
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
      <Line label={t('quit')} help={t('quitHelp')}>
        {() => (
          <Action
            label={t('quitChasqui')}
            kind="danger"
            run={() => {
              asking.value = true;
            }}
          />
        )}
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
    </Part>
  );
}
