import { useEffect, useId } from 'preact/hooks';
import { Action, CopyButton } from '../../parts/button.js';
import { FitMeter } from '../../parts/fit-meter.js';
import { Icon } from '../../parts/icon.js';
import { ModelPicker } from '../../parts/model-parts.js';
import { OptionForm } from '../../parts/option-form.js';
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
import { percent } from '../../state/format.js';
import { linkTo } from '../../state/route.js';

const titles = { stopped: 'Stopped', starting: 'Starting …', running: 'Running', stopping: 'Stopping …' };

export function ServerPanel() {
  const { state, address, error } = server.value;
  const models = library.value ?? [];
  const settled = state === 'stopped';
  return (
    <section class="card server" aria-labelledby="server-title">
      <header class="card-head">
        <h2 id="server-title">Server</h2>
        <span class={`status ${state}`} role="status">
          <span class={`dot ${state === 'running' ? 'good' : settled ? '' : 'busy'}`} />
          {titles[state]}
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
      No model on this computer yet. <a href={linkTo('search')}>Find one</a>, then start the server here.
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
        label="Model"
        models={library.value ?? []}
        value={selectedModel.value}
        choose={pickModel}
        disabled={!settled}
      />
      <div class="start-row">
        <div class="field port">
          <label for={id}>Port</label>
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
          <Action label="Start Server" icon="play" kind="primary" disabled={!settled} run={startServer} />
        ) : (
          <Action label="Stop Server" icon="stop" kind="danger" disabled={state === 'stopping'} run={stopServer} />
        )}
      </div>
      {loading?.state === 'loading' && (
        <label class="loading">
          Loading {loading.progress === null ? '…' : percent(loading.progress)}
          <progress value={loading.progress ?? undefined} max={1} />
        </label>
      )}
    </>
  );
}

function Address({ address }: { address: string }) {
  return (
    <div class="address">
      <code>{address}</code>
      <CopyButton label="Copy address" text={() => address} />
    </div>
  );
}

function LoadSettings() {
  useEffect(() => void loadOptions().catch(() => {}), []);
  const changed = Object.keys(config.value).length;
  return (
    <details class="load-settings">
      <summary>Load settings {changed > 0 && <span class="badge">{changed} changed</span>}</summary>
      <FitMeter
        model={selectedModel.value}
        context={config.value.contextSize}
        take={(context) => setOption('contextSize', context)}
      />
      <OptionForm rows={options.value} values={config.value} set={setOption} />
      <div class="row">
        <Action label="Save as this model's defaults" run={saveAsDefaults} disabled={changed === 0} />
        <Action label="Reset all" kind="quiet" disabled={changed === 0} run={() => changeConfig({})} />
      </div>
    </details>
  );
}
