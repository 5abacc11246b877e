/** The chats of the Chat view: one, or two side by side that receive the same messages. */
import { computed, effect, signal } from '@preact/signals';
import { chatModels, connected, library, loadedModels } from './app.js';
import { ChatSession } from './chat-session.js';
import { changedChat } from './chats.js';
import { applyDefaultPreset } from './presets.js';
import { replaceRoute, route } from './route.js';

export const first = new ChatSession();
export const second = new ChatSession();
/** Whether two models are compared. */
export const comparing = signal(false);
export const sessions = computed(() => (comparing.value ? [first, second] : [first]));
export const busy = computed(() => sessions.value.some((session) => session.busy.value));

export type Panel = 'history' | 'settings';
/** Open panels; both only on wide pages. */
export const panels = signal<ReadonlySet<Panel>>(new Set(matchMedia('(min-width: 1100px)').matches ? ['history'] : []));

/** On a narrow page a panel covers the chat. */
const panelsCover = () => matchMedia('(max-width: 860px)').matches;

export function togglePanel(panel: Panel): void {
  const open = new Set(panels.value);
  if (!open.delete(panel)) {
    if (panelsCover()) open.clear();
    open.add(panel);
  }
  panels.value = open;
}

export function uncoverChat(): void {
  if (panelsCover()) panels.value = new Set();
}

/** `#/chat` becomes the address of the shown chat as soon as that has an id. */
export function followChatAddress(): () => void {
  return effect(() => {
    const id = first.id.value;
    if (id !== null && route.value?.view === 'chat' && route.value.rest === '') replaceRoute('chat', id);
  });
}

// Other pages change chats too, and completions continue while no page is connected.
effect(() => {
  const change = changedChat.value;
  if (change) for (const session of [first, second]) session.changed(change);
});
effect(() => {
  if (connected.value) for (const session of [first, second]) void session.refresh().catch(() => undefined);
});

/** The message of a search result. The conversation scrolls to it. */
export const shownHit = signal<string | null>(null);

/** Opens the chat of the address, at a message if given. If it does not exist, a new chat is shown. */
export async function openChat(id: string, message: string | null): Promise<void> {
  try {
    await first.open(id);
    if (message !== null) await showMessage(message);
    shownHit.value = message;
  } catch (error) {
    await newChat();
    throw error;
  }
}

async function showMessage(id: string): Promise<void> {
  const isShown = first.branch.value.some((message) => message.id === id);
  if (!isShown && first.messages.value.some((message) => message.id === id)) await first.switchTo(id);
}

/** Selects the loaded model for a new chat, or else the first one, with its preset. */
export function followModels(): () => void {
  return effect(chooseModels);
}

function chooseModels(): void {
  const models = chatModels.value;
  const known = (key: string) => models.some((model) => model.key === key);
  const loaded = loadedModels.value.find(({ model, state }) => state !== 'failed' && known(model))?.model;
  if (!known(first.model.peek())) {
    first.model.value = loaded ?? models[0]?.key ?? '';
    applyDefaultPreset(first);
  }
  if (!known(second.model.peek())) {
    second.model.value = models.find(({ key }) => key !== first.model.peek())?.key ?? first.model.peek();
  }
}

export const hasModels = computed(() => library.value === undefined || chatModels.value.length > 0);

export async function newChat(): Promise<void> {
  await Promise.all([first.open(null), second.open(null)]);
  for (const session of [first, second]) applyDefaultPreset(session);
  replaceRoute('chat');
}

export async function compare(on: boolean): Promise<void> {
  if (on) await second.open(null);
  comparing.value = on;
}
