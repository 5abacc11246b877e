/** State of the server panel: model, load settings and memory estimate. */

import { batch, computed, signal } from '@preact/signals';
import type { ExactFit, LoadConfig } from '../../api-types.js';
import { ApiError, get, post, query } from './api.js';
import { chatModels, library, loadModel, saveSettings, server, settings } from './app.js';
import { t } from './language.js';
import { attempt, type Mend, notify } from './notices.js';
import { go } from './route.js';

const picked = signal<string | null>(null);
/** Load settings that differ from the defaults. */
export const config = signal<LoadConfig>({});
/** Whether the user changed them: a loaded model keeps its options otherwise. */
const changed = signal(false);
export const port = signal<number | null>(null);

/** Model of Start Server: the running one, the chosen one, or the first. */
export const selectedModel = computed(() => {
  const running = server.value.state === 'stopped' ? null : server.value.model;
  const known = (key: string | null) => (library.value?.some((model) => model.key === key) ? key : null);
  return running ?? known(picked.value) ?? chatModels.value[0]?.key ?? '';
});

export const chosenPort = computed(() => port.value ?? server.value.port);

export function pickModel(key: string): void {
  batch(() => {
    picked.value = key;
    config.value = { ...settings.value?.modelDefaults?.[key] };
    changed.value = false;
  });
}

export function setOption(name: string, value: unknown): void {
  const { [name]: _, ...others } = config.value;
  changeConfig(value === undefined ? others : { ...others, [name]: value });
}

export function changeConfig(next: LoadConfig): void {
  config.value = next;
  changed.value = true;
}

export async function startServer(): Promise<void> {
  await attempt(start, mendsFor);
}

async function start(): Promise<void> {
  const options = changed.value ? { config: config.value } : {};
  await post('/server/start', { model: selectedModel.value, port: chosenPort.value, ...options });
}

export async function stopServer(): Promise<void> {
  await attempt(() => post('/server/stop'));
}

/** Remedies for a failed start. */
function mendsFor(error: unknown): readonly Mend[] {
  if (!(error instanceof ApiError)) return [];
  if (error.code === 'port_in_use') {
    const free = freePortIn(error.message, chosenPort.value) ?? chosenPort.value + 1;
    return [{ label: t('usePort', { port: String(free) }), run: () => void startOn(free) }];
  }
  return memoryMends(error, selectedModel.value, config.value, (change) => {
    changeConfig({ ...config.value, ...change });
    void startServer();
  });
}

/** Extracts the free port from the error message. */
function freePortIn(message: string, taken: number): number | undefined {
  const ports = [...message.matchAll(/\b\d{2,5}\b/g)].map(([text]) => Number(text));
  return ports.findLast((each) => each !== taken && each > 1023 && each < 65_536);
}

async function startOn(free: number): Promise<void> {
  port.value = free;
  await startServer();
  if (server.value.state === 'running') notify('done', t('serverRunningOn', { port: String(free) }));
}

const outOfMemory = /memory|too large|does not fit|more than llama\.cpp can address/i;

/** Remedies for a model that does not fit: a smaller context, fewer GPU layers, another quantisation. */
function memoryMends(
  error: ApiError,
  model: string,
  current: LoadConfig,
  retryWith: (change: LoadConfig) => void,
): readonly Mend[] {
  if (!outOfMemory.test(`${error.code} ${error.message}`)) return [];
  const entry = library.value?.find(({ key }) => key === model);
  const context = typeof current.contextSize === 'number' ? current.contextSize : 4096;
  // A context beyond the trained length does not help.
  const smaller = Math.max(512, Math.min(Math.floor(context / 2), entry?.max_context_length ?? context));
  const mends: Mend[] = [
    { label: t('tryContext', { context: String(smaller) }), run: () => retryWith({ contextSize: smaller }) },
    { label: t('computeOnCpu'), run: () => retryWith({ gpuLayers: 0 }) },
  ];
  if (entry?.source !== 'hub') return mends;
  return [...mends, { label: t('otherQuantisations'), run: () => go('search', model.replace(/:[^:]*$/, '')) }];
}

/** Loads a model with its own settings and a change; offers remedies if it does not fit. */
export async function loadOrMend(model: string, change: LoadConfig): Promise<void> {
  await attempt(
    () => loadModel(model, change),
    (error) =>
      error instanceof ApiError
        ? memoryMends(error, model, change, (next) => void loadOrMend(model, { ...change, ...next }))
        : [],
  );
}

export async function saveAsDefaults(): Promise<void> {
  const all = { ...settings.value?.modelDefaults, [selectedModel.value]: config.value };
  if (await attempt(() => saveSettings({ modelDefaults: all }))) notify('done', t('savedAsModelDefaults'));
}

export function fetchFit(model: string, context: unknown, signal: AbortSignal): Promise<ExactFit> {
  return get<ExactFit>(`/models/fit${query({ model, context: typeof context === 'number' ? context : null })}`, signal);
}
