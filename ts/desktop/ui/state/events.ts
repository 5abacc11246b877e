/**
 * The event stream of a page. Browsers allow six connections per host for all pages together, so a hidden page closes
 * its stream. When shown again it reads the whole state, as after any interruption.
 */
import type { AppEvents } from '../../api-types.js';
import { refreshActivity, takeLogLine, takePoint, takeRequest } from './activity.js';
import { ApiError } from './api.js';
import {
  connected,
  loadedModels,
  refreshLibrary,
  refreshState,
  refused,
  server,
  takeDownload,
  takeSettings,
  takeUpdate,
} from './app.js';
import { refreshChats, takeChat } from './chats.js';
import { refreshMcp } from './mcp.js';
import { attempt } from './notices.js';
import { sharing } from './sharing.js';

let source: EventSource | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;

const retryMs = 2000;

export function followEvents(): void {
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : void open()));
  if (!document.hidden) void open();
}

function close(): void {
  clearTimeout(retry);
  source?.close();
  source = undefined;
}

async function open(): Promise<void> {
  close();
  const opened = new EventSource('/api/v1/events');
  source = opened;
  on(opened, 'server', (status) => {
    server.value = status;
  });
  on(opened, 'models', (models) => {
    loadedModels.value = models;
  });
  on(opened, 'download', takeDownload);
  on(opened, 'request', takeRequest);
  on(opened, 'metrics', takePoint);
  on(opened, 'log', takeLogLine);
  on(opened, 'settings', takeSettings);
  on(opened, 'chat', takeChat);
  on(opened, 'library', () => void refreshLibrary().catch(() => {}));
  on(opened, 'folders', () => void refreshChats().catch(() => {}));
  on(opened, 'sharing', (state) => {
    sharing.value = state;
  });
  on(opened, 'update', takeUpdate);
  on(opened, 'mcp', () => void refreshMcp().catch(() => {}));
  opened.onerror = () => reopenLater(opened);
  try {
    await refreshState();
    refused.value = false;
    if (source === opened) connected.value = true;
    // An error in one of them does not affect the others.
    await Promise.all([refreshLibrary, refreshActivity, refreshChats, refreshMcp].map((refresh) => attempt(refresh)));
  } catch (error) {
    refused.value = error instanceof ApiError && error.status === 401;
    reopenLater(opened);
  }
}

function on<Name extends keyof AppEvents>(from: EventSource, name: Name, take: (data: AppEvents[Name]) => void): void {
  from.addEventListener(name, (event) => {
    if (source === from) take(JSON.parse((event as MessageEvent<string>).data) as AppEvents[Name]);
  });
}

/** The browser's own reconnect would not read the missed changes. */
function reopenLater(failed: EventSource): void {
  if (source !== failed) return;
  close();
  connected.value = false;
  retry = setTimeout(() => void open(), retryMs);
}
