/** Named system prompts and settings of chats. The app stores them. */

import { computed } from '@preact/signals';
import type { Preset } from '../../api-types.js';
import { saveSettings, settings } from './app.js';
import { download } from './attachments.js';
import type { ChatSession } from './chat-session.js';
import { t } from './language.js';

export const presets = computed<readonly Preset[]>(() => settings.value?.presets ?? []);

/** Choices for each chat, which presets do not change. */
const OF_CHAT = ['whenFull', 'longFiles', 'tools'];
const MAX_FILE_BYTES = 16 * 2 ** 20;

const entriesOf = (values: Preset['settings']) => Object.entries(values).filter(([name]) => !OF_CHAT.includes(name));

function contentOf({ systemPrompt, settings: values }: Pick<Preset, 'systemPrompt' | 'settings'>): string {
  const sorted = entriesOf(values).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([systemPrompt, sorted]);
}

function valuesOf(session: ChatSession): Pick<Preset, 'systemPrompt' | 'settings'> {
  return { systemPrompt: session.systemPrompt.value, settings: Object.fromEntries(entriesOf(session.settings.value)) };
}

/** The preset with exactly the values of the chat. */
export function presetOf(session: ChatSession): Preset | undefined {
  const content = contentOf(valuesOf(session));
  return presets.value.find((preset) => contentOf(preset) === content);
}

export function applyPreset(session: ChatSession, { systemPrompt, settings: values }: Preset): void {
  const own = Object.entries(session.settings.peek()).filter(([name]) => OF_CHAT.includes(name));
  session.systemPrompt.value = systemPrompt;
  // Imported presets can have any settings.
  session.settings.value = Object.fromEntries([...entriesOf(values), ...own]);
}

/** Chats without messages get the default preset of their model. */
export function applyDefaultPreset(session: ChatSession): void {
  const name = settings.peek()?.modelPresets[session.model.peek()];
  const preset = presets.peek().find((each) => each.name === name);
  if (preset && session.messages.peek().length === 0) applyPreset(session, preset);
}

/** Replaces presets of the same names. */
async function put(added: readonly Preset[]): Promise<void> {
  const names = new Set(added.map(({ name }) => name));
  await saveSettings({ presets: [...presets.value.filter(({ name }) => !names.has(name)), ...added] });
}

export async function savePreset(name: string, session: ChatSession): Promise<void> {
  await put([{ name, ...valuesOf(session) }]);
}

export async function deletePreset(name: string): Promise<void> {
  const models = Object.entries(settings.value?.modelPresets ?? {}).filter(([, preset]) => preset !== name);
  const left = presets.value.filter((preset) => preset.name !== name);
  await saveSettings({ presets: left, modelPresets: Object.fromEntries(models) });
}

export async function setDefaultPreset(model: string, name: string | undefined): Promise<void> {
  const { [model]: _, ...others } = settings.value?.modelPresets ?? {};
  await saveSettings({ modelPresets: name === undefined ? others : { ...others, [model]: name } });
}

export async function importPresets(file: File): Promise<void> {
  if (file.size > MAX_FILE_BYTES) throw new Error(t('presetFileTooLarge', { file: file.name }));
  let added: unknown;
  try {
    added = JSON.parse(await file.text()).presets;
  } catch {}
  if (!Array.isArray(added)) throw new Error(t('notPresets', { file: file.name }));
  await put(added as Preset[]);
}

export function exportPresets(): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify({ presets: presets.value }, null, 2)]));
  download(url, 'presets.json');
  URL.revokeObjectURL(url);
}
