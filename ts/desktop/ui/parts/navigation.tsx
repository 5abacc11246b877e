import { activeDownloads, connected, machine, server, version } from '../state/app.js';
import { bytes } from '../state/format.js';
import { type MessageKey, t } from '../state/language.js';
import { linkTo, route, type View } from '../state/route.js';
import { Icon, type IconName } from './icon.js';
import { Meter } from './meter.js';

const entries: readonly [view: View, label: MessageKey, icon: IconName][] = [
  ['search', 'viewSearch', 'search'],
  ['downloads', 'viewDownloads', 'downloads'],
  ['models', 'viewModels', 'models'],
  ['chat', 'viewChat', 'chat'],
  ['developer', 'viewDeveloper', 'developer'],
  ['settings', 'viewSettings', 'settings'],
];

export function Navigation() {
  return (
    <nav class="navigation" aria-label={t('views')}>
      <p class="brand">
        <img src="/icon.svg" alt="" width="26" height="26" />
        <span>chasqui</span>
      </p>
      <ul>
        {entries.map(([view, label, icon]) => (
          <li key={view}>
            <a href={linkTo(view)} aria-current={route.value?.view === view ? 'page' : undefined} title={t(label)}>
              <Icon name={icon} />
              <span class="label">{t(label)}</span>
              {view === 'downloads' && <DownloadCount />}
              {view === 'developer' && server.value.state === 'running' && (
                <span class="dot good" title={t('serverRunning')} />
              )}
            </a>
          </li>
        ))}
      </ul>
      <MachineState />
    </nav>
  );
}

function DownloadCount() {
  const running = activeDownloads.value.length;
  return running > 0 ? (
    <span class="counter">
      {running}
      <span class="unseen"> {t('running')}</span>
    </span>
  ) : null;
}

function MachineState() {
  const { memoryBytes, freeBytes } = machine.value;
  const { state } = server.value;
  const used = memoryBytes - freeBytes;
  return (
    <div class="machine">
      <p>
        <span class={`dot ${state === 'running' && connected.value ? 'good' : ''}`} />
        {connected.value ? serverWords() : t('connecting')}
      </p>
      {memoryBytes > 0 && (
        <>
          <p>{t('memoryUsed', { used: bytes(used), total: bytes(memoryBytes) })}</p>
          <Meter
            label={t('memoryInUse', { used: bytes(used), total: bytes(memoryBytes) })}
            parts={[{ name: 'used', share: used / memoryBytes }]}
          />
        </>
      )}
      <p class="version">{version.value}</p>
    </div>
  );
}

function serverWords(): string {
  const { state, address } = server.value;
  if (state !== 'running') return t('serverStopped');
  if (!address || !URL.canParse(address)) return t('serverRunning');
  return t('serverOnPort', { port: new URL(address).port || '80' });
}
