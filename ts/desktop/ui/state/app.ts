/** State shared by all views, as signals. */

import { computed, signal } from '@preact/signals';
import type {
  AppState,
  DownloadJob,
  ListedModel,
  LoadedModel,
  Machine,
  ModelList,
  NewVersion,
  OptionForm,
  ServerState,
  Settings,
  SettingsChange,
} from '../../api-types.js';
import { call, get, post } from './api.js';
import { setLanguage, t } from './language.js';
import { notify } from './notices.js';

/** False until the first state was received. */
export const ready = signal(false);
/** Whether the app is reachable. */
export const connected = signal(true);
/** Whether the cookie of this page has expired. */
export const refused = signal(false);
export const version = signal('');
export const update = signal<NewVersion | null>(null);
export const server = signal<ServerState>({ state: 'stopped', port: 1234, address: null, model: null, error: null });
export const machine = signal<Machine>({ memoryBytes: 0, freeBytes: 0, cores: 0, gpus: [] });
export const loadedModels = signal<readonly LoadedModel[]>([]);
export const downloads = signal<readonly DownloadJob[]>([]);
export const settings = signal<Settings | null>(null);
/** Models on this computer; undefined until listed. */
export const library = signal<readonly ListedModel[] | undefined>(undefined);
export const options = signal<readonly OptionForm[]>([]);

export const chatModels = computed(() => (library.value ?? []).filter(({ type }) => type !== 'embedding'));
export const activeDownloads = computed(() => downloads.value.filter(isActive));

export function isActive({ state }: DownloadJob): boolean {
  return state === 'queued' || state === 'downloading' || state === 'verifying';
}

export async function refreshState(): Promise<void> {
  const state = await get<AppState>('/state');
  version.value = state.version;
  if (state.update) takeUpdate(state.update);
  server.value = state.server;
  machine.value = state.machine;
  loadedModels.value = state.models;
  downloads.value = state.downloads;
  takeSettings(state.settings);
  ready.value = true;
}

export async function refreshLibrary(): Promise<void> {
  const { models } = await get<ModelList>('/models');
  library.value = models;
}

export async function loadOptions(): Promise<void> {
  if (options.value.length > 0) return;
  options.value = (await get<{ options: OptionForm[] }>('/options')).options;
}

export function takeSettings(changed: Settings): void {
  settings.value = changed;
  applyTheme(changed.theme);
  setLanguage(changed.language);
}

export async function saveSettings(change: SettingsChange): Promise<void> {
  takeSettings(await call<Settings>('PUT', '/settings', change));
}

const themeKey = 'chasqui.theme';

/** Also stored in the browser, for theme.ts at the next first paint. */
function applyTheme(theme: Settings['theme']): void {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem(themeKey, theme);
}

const updateKey = 'chasqui.update';

/** Each version gets one notice. */
export function takeUpdate(found: NewVersion): void {
  update.value = found;
  if (localStorage.getItem(updateKey) === found.version) return;
  localStorage.setItem(updateKey, found.version);
  notify('done', t('newVersion', { version: found.version }));
}

/** Inserts a job, or replaces its older state. */
export function takeDownload(job: DownloadJob): void {
  const others = downloads.value.filter(({ id }) => id !== job.id);
  const position = downloads.value.findIndex(({ id }) => id === job.id);
  downloads.value = position < 0 ? [job, ...others] : others.toSpliced(position, 0, job);
}

export function loadedOf(model: string): LoadedModel | undefined {
  return loadedModels.value.find((loaded) => loaded.model === model || loaded.id === model);
}

export async function loadModel(model: string, config: Record<string, unknown> = {}): Promise<void> {
  const options = Object.keys(config).length > 0 ? { config } : {};
  await post('/models/load', { model, ...options });
}

export async function unloadModel(instance: string): Promise<void> {
  await post('/models/unload', { instance_id: instance });
}
