import { useEffect, useId } from 'preact/hooks';
import { Action, CopyButton } from '../../parts/button.js';
import { FitMeter } from '../../parts/fit-meter.js';
import { Icon } from '../../parts/icon.js';
import { LoadProgress } from '../../parts/load-progress.js';
import { ModelPicker } from '../../parts/model-parts.js';
import { OptionForm } from '../../parts/option-form.js';
import { Rich } from '../../parts/rich.js';
import { library, loadedOf, loadOptions, options, server } from '../../state/app.js';
import {
  changeConfig,
  chosenPort,
  config,
  pickModel,
  port,
  saveAsDefaults,
  selectedModel,
  setOption,
  startServer,
  stopServer,
} from '../../state/developer.js';
import { t } from '../../state/language.js';
import { linkTo } from '../../state/route.js';

const titles = {
  stopped: 'serverStateStopped',
  starting: 'serverStateStarting',
  running: 'serverStateRunning',
  stopping: 'serverStateStopping',
} as const;

export function ServerPanel() {
  const { state, address, error } = server.value;
  const models = library.value ?? [];
  const settled = state === 'stopped';
  return (
    <section class="card server" aria-labelledby="server-title">
      <header class="card-head">
        <h2 id="server-title">{t('server')}</h2>
        <span class={`status ${state}`} role="status">
          <span class={`dot ${state === 'running' ? 'good' : settled ? '' : 'busy'}`} />
          {t(titles[state])}
        </span>
      </header>
      {models.length === 0 ? <NoModels /> : <Choice settled={settled} />}
      {state === 'running' && address && <Address address={address} />}
      {error && (
        <p class="problem" role="alert">
          <Icon name="warning" /> {error}
        </p>
      )}
      {models.length > 0 && settled && <LoadSettings />}
    </section>
  );
}

function NoModels() {
  return (
    <p>
      <Rich message="noModelHere" values={{ findOne: <a href={linkTo('search')}>{t('findOne')}</a> }} />
    </p>
  );
}

function Choice({ settled }: { settled: boolean }) {
  const id = useId();
  const { state } = server.value;
  const loading = loadedOf(selectedModel.value);
  return (
    <>
      <ModelPicker
        label={t('model')}
        models={library.value ?? []}
        value={selectedModel.value}
        choose={pickModel}
        disabled={!settled}
      />
      <div class="start-row">
        <div class="field port">
          <label for={id}>{t('port')}</label>
          <input
            id={id}
            type="number"
            min={1}
            max={65535}
            disabled={!settled}
            value={settled ? chosenPort.value : server.value.port}
            onChange={(event) => {
              if (event.currentTarget.validity.valid) port.value = event.currentTarget.valueAsNumber || null;
            }}
          />
        </div>
        {state === 'stopped' || state === 'starting' ? (
          <Action label={t('startServer')} icon="play" kind="primary" disabled={!settled} run={startServer} />
        ) : (
          <Action label={t('stopServer')} icon="stop" kind="danger" disabled={state === 'stopping'} run={stopServer} />
        )}
      </div>
      {loading?.state === 'loading' && <LoadProgress share={loading.progress} />}
    </>
  );
}

function Address({ address }: { address: string }) {
  return (
    <div class="address">
      <code>{address}</code>
      <CopyButton label={t('copyAddress')} text={() => address} />
    </div>
  );
}

function LoadSettings() {
  useEffect(() => void loadOptions().catch(() => {}), []);
  const changed = Object.keys(config.value).length;
  return (
    <details class="load-settings">
      <summary>
        {t('loadSettings')} {changed > 0 && <span class="badge">{t('changedCount', { count: changed })}</span>}
      </summary>
      <FitMeter
        model={selectedModel.value}
        context={config.value.contextSize}
        take={(context) => setOption('contextSize', context)}
      />
      <OptionForm rows={options.value} values={config.value} set={setOption} />
      <div class="row">
        <Action label={t('saveAsOwnDefaults')} run={saveAsDefaults} disabled={changed === 0} />
        <Action label={t('resetAll')} kind="quiet" disabled={changed === 0} run={() => changeConfig({})} />
      </div>
    </details>
  );
}
