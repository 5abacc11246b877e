/** The chat of a server's web page. It uses the OpenAI-compatible API and exists only in the page. */
import { computed, signal } from '@preact/signals';
import { isAbort, wordsOf } from '../state/api.js';
import { EachFrame } from '../state/each-frame.js';
import { keyIn } from '../state/key-in-address.js';

/** A model as `/v1/models` lists it. */
export interface ServedModel {
  id: string;
  status?: { value: string };
  size?: number;
  context_length?: number;
  quantization?: string;
  capabilities?: readonly string[];
}

export interface Turn {
  id: number;
  role: 'user' | 'assistant';
  content: string;
  reasoning: string;
  /** Tokens and duration of a finished completion. */
  stats: string;
}

interface Chunk {
  choices?: { delta: { content?: string | null; reasoning_content?: string | null } }[];
  usage?: Usage | null;
  error?: { message: string };
}

interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

const { base = './', app, back = '', formToken = '' } = (document.getElementById('web-page') as HTMLElement).dataset;
/** Base URL of the API. */
export const apiBase = new URL(base, location.href).href;
/** In the dashboard of a cloud: the app, and the address of its page. */
export const cloudApp = app === undefined ? null : { name: app, back };
/** Apps of a cloud do not share keys. */
const KEY_NAME = cloudApp ? `chasqui.key.${cloudApp.name}` : 'chasqui.key';
/** Scheme of the header `Authorization`. */
export const keyScheme = cloudApp ? 'Key' : 'Bearer';

export const models = signal<readonly ServedModel[] | null>(null);
export const model = signal('');
export const turns = signal<readonly Turn[]>([]);
export const problem = signal('');
/** Whether the server refused the key, or needs one. */
export const needsKey = signal(false);
export const samplingDefaults = signal<readonly (readonly [string, number])[]>([]);
const running = signal<AbortController | null>(null);
export const busy = computed(() => running.value !== null);

let lastId = 0;
const frame = new EachFrame<Turn>((turn) => {
  turns.value = turns.value.map((each) => (each.id === turn.id ? turn : each));
});

export async function openServer(): Promise<void> {
  try {
    const { data } = (await (await ask('v1/models')).json()) as { data: ServedModel[] };
    models.value = data;
    if (!data.some(({ id }) => id === model.value)) model.value = data[0]?.id ?? '';
    await showDefaults();
  } catch (error) {
    problem.value = wordsOf(error);
  }
}

/** Uses the key in the address, such as that of a QR code. Apps of a cloud take none, because links of others could contain one. */
export async function start(): Promise<void> {
  const key = cloudApp ? null : keyIn(location.hash);
  if (key === null) return openServer();
  // Removes it from the history of the browser.
  history.replaceState(null, '', location.pathname + location.search);
  await setKey(key);
}

export function hasKey(): boolean {
  return sessionStorage.getItem(KEY_NAME) !== null;
}

export function setKey(key: string): Promise<void> {
  sessionStorage.setItem(KEY_NAME, key);
  needsKey.value = false;
  problem.value = '';
  return openServer();
}

const TOO_MANY = 429;

/** Asks the dashboard for a key that expires soon. */
export async function createKey(): Promise<void> {
  const reply = await fetch(`${cloudApp?.back}/try/key`, {
    method: 'POST',
    body: new URLSearchParams({ form_token: formToken }),
  });
  if (reply.status === TOO_MANY) throw new Error('You have created many keys. Try again in a minute.');
  const { key } = (await reply.json().catch(() => ({}))) as { key?: string };
  if (key === undefined) throw new Error('The session has ended. Open the dashboard and sign in again.');
  await setKey(key);
}

/** A model that is not loaded has no defaults. Apps of a cloud do not show theirs. */
export async function showDefaults(): Promise<void> {
  samplingDefaults.value = [];
  if (cloudApp) return;
  const reply = await ask(`props?model=${encodeURIComponent(model.value)}`).catch(() => null);
  if (reply === null) return;
  const { default_generation_settings: settings } = (await reply.json()) as {
    default_generation_settings: { params: Record<string, unknown> };
  };
  const shown = ['temperature', 'top_k', 'top_p', 'min_p', 'repeat_penalty'];
  samplingDefaults.value = shown.flatMap((name) => {
    const value = settings.params[name];
    return typeof value === 'number' ? [[name, Math.round(value * 1000) / 1000] as const] : [];
  });
}

export async function send(text: string): Promise<void> {
  if (busy.value || text.trim() === '') return;
  turns.value = [...turns.value, newTurn('user', text)];
  await complete();
}

/** Completes the last message of the user, again if there is a completion of it. */
export async function complete(): Promise<void> {
  const last = turns.value.findLastIndex(({ role }) => role === 'user');
  if (busy.value || last < 0) return;
  const asked = turns.value.slice(0, last + 1);
  const turn = newTurn('assistant', '');
  turns.value = [...asked, turn];
  problem.value = '';
  const controller = new AbortController();
  running.value = controller;
  try {
    await stream(asked, turn, controller.signal);
  } catch (error) {
    if (!isAbort(error)) problem.value = wordsOf(error);
  }
  running.value = null;
}

export function stop(): void {
  running.value?.abort();
}

export function clear(): void {
  stop();
  turns.value = [];
  problem.value = '';
}

async function stream(asked: readonly Turn[], turn: Turn, signal: AbortSignal): Promise<void> {
  const started = performance.now();
  const messages = asked.map(({ role, content }) => ({ role, content }));
  const body = { model: model.value, messages, stream: true, stream_options: { include_usage: true } };
  const headers = { 'content-type': 'application/json' };
  const reply = await ask('v1/chat/completions', { method: 'POST', headers, body: JSON.stringify(body), signal });
  let growing = turn;
  let firstToken: number | null = null;
  for await (const { choices, usage, error } of readChunks(reply)) {
    if (error) throw new Error(error.message);
    const delta = choices?.[0]?.delta;
    const content = growing.content + (delta?.content ?? '');
    const reasoning = growing.reasoning + (delta?.reasoning_content ?? '');
    if (content !== '' || reasoning !== '') firstToken ??= performance.now();
    const stats = usage ? statsOf(usage, started, firstToken) : growing.stats;
    growing = { ...growing, content, reasoning, stats };
    if (!signal.aborted) frame.set(growing);
  }
}

function statsOf(
  { prompt_tokens: prompt, completion_tokens: count }: Usage,
  start: number,
  first: number | null,
): string {
  const now = performance.now();
  const seconds = (ms: number, digits: number) => `${(ms / 1000).toFixed(digits)} s`;
  const parts = [`${count} tokens in ${seconds(now - start, 1)}`];
  if (first !== null) parts.push(`first token after ${seconds(first - start, 2)}`);
  // The first token has no interval before it.
  if (first !== null && now > first && count > 1) {
    parts.push(`${(((count - 1) * 1000) / (now - first)).toFixed(1)} tokens/s`);
  }
  return [...parts, `${prompt} prompt tokens`].join(' · ');
}

async function* readChunks(reply: Response): AsyncGenerator<Chunk> {
  let rest = '';
  for await (const text of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = (rest + text).split('\n\n');
    rest = frames.pop() ?? '';
    for (const each of frames) {
      const data = /^data: (.*)$/m.exec(each)?.[1];
      if (data === '[DONE]') return;
      if (data !== undefined) yield JSON.parse(data) as Chunk;
    }
  }
  throw new Error('The connection to the server was lost.');
}

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const key = sessionStorage.getItem(KEY_NAME);
  const headers = { ...init.headers, ...(key !== null && { authorization: `${keyScheme} ${key}` }) };
  const reply = await fetch(`${apiBase}${path}`, { ...init, headers }).catch((error) => {
    throw isAbort(error) ? error : new Error('The server is not running, or it is restarting.');
  });
  if (reply.ok) return reply;
  if (reply.status === 401) needsKey.value = true;
  const { error } = (await reply.json().catch(() => ({}))) as { error?: { message: string } };
  throw new Error(error?.message ?? `The server replied with status ${reply.status}.`);
}

function newTurn(role: Turn['role'], content: string): Turn {
  lastId += 1;
  return { id: lastId, role, content, reasoning: '', stats: '' };
}
