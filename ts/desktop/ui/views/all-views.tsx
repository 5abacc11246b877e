/**
 * The views, each a chunk of its own. The first paint loads none of them, the first view only itself; the others are
 * loaded when the page is idle.
 */
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { VIEWS, type View } from '../state/route.js';

const sources: Record<View, () => Promise<ComponentType>> = {
  search: async () => (await import('./search/search-view.js')).SearchView,
  downloads: async () => (await import('./downloads-view.js')).DownloadsView,
  models: async () => (await import('./models/models-view.js')).ModelsView,
  chat: async () => (await import('./chat/chat-view.js')).ChatView,
  developer: async () => (await import('./developer/developer-view.js')).DeveloperView,
  settings: async () => (await import('./settings-view.js')).SettingsView,
};

const loaded = signal<Partial<Record<View, ComponentType>>>({});
const loading = new Map<View, Promise<void>>();

/** `undefined` until the chunk is loaded. */
export function viewOf(view: View): ComponentType | undefined {
  const found = loaded.value[view];
  if (!found) void load(view);
  return found;
}

function load(view: View): Promise<void> {
  const under = loading.get(view) ?? fetchView(view);
  loading.set(view, under);
  return under;
}

async function fetchView(view: View): Promise<void> {
  const View = await sources[view]().catch((error: unknown): ComponentType => {
    // The error is shown in place of the view, with a reload button.
    return () => {
      throw error;
    };
  });
  const isFirst = Object.keys(loaded.peek()).length === 0;
  loaded.value = { ...loaded.peek(), [view]: View };
  if (isFirst) loadOthers();
}

const patienceMs = 3000;

/** Loads all views when idle, or after a delay, because the app may be gone later. */
function loadOthers(): void {
  const all = () => void Promise.all(VIEWS.map(load));
  if ('requestIdleCallback' in globalThis) requestIdleCallback(all, { timeout: patienceMs });
  else setTimeout(all, patienceMs);
}
