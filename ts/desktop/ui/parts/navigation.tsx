import { activeDownloads, connected, machine, server, version } from '../state/app.js';
import { bytes } from '../state/format.js';
import { linkTo, route, type View } from '../state/route.js';
import { Icon, type IconName } from './icon.js';
import { Meter } from './meter.js';

const entries: readonly [view: View, label: string, icon: IconName][] = [
  ['search', 'Search', 'search'],
  ['downloads', 'Downloads', 'downloads'],
  ['models', 'My Models', 'models'],
  ['chat', 'Chat', 'chat'],
  ['developer', 'Developer', 'developer'],
  ['settings', 'Settings', 'settings'],
];

export function Navigation() {
  return (
    <nav class="navigation" aria-label="Views">
      <p class="brand">
        <img src="/icon.svg" alt="" width="26" height="26" />
        <span>chasqui</span>
      </p>
      <ul>
        {entries.map(([view, label, icon]) => (
          <li key={view}>
            <a href={linkTo(view)} aria-current={route.value?.view === view ? 'page' : undefined} title={label}>
              <Icon name={icon} />
              <span class="label">{label}</span>
              {view === 'downloads' && <DownloadCount />}
              {view === 'developer' && server.value.state === 'running' && (
                <span class="dot good" title="Server running" />
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
      <span class="unseen"> running</span>
    </span>
  ) : null;
}

function MachineState() {
  const { memoryBytes, freeBytes } = machine.value;
  const { state, address } = server.value;
  const used = memoryBytes - freeBytes;
  return (
    <div class="machine">
      <p>
        <span class={`dot ${state === 'running' && connected.value ? 'good' : ''}`} />
        {connected.value ? (state === 'running' ? `Server on ${portOf(address)}` : 'Server stopped') : 'Connecting …'}
      </p>
      {memoryBytes > 0 && (
        <>
          <p>
            {bytes(used)} of {bytes(memoryBytes)} used
          </p>
          <Meter
            label={`Memory in use: ${bytes(used)} of ${bytes(memoryBytes)}`}
            parts={[{ name: 'used', share: used / memoryBytes }]}
          />
        </>
      )}
      <p class="version">{version.value}</p>
    </div>
  );
}

function portOf(address: string | null): string {
  return address && URL.canParse(address) ? `port ${new URL(address).port || '80'}` : '…';
}
