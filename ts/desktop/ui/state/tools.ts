/** Calls of tools: permissions, and the functions that run them. */
import { effect } from '@preact/signals';
import type { ChatMessage } from '../../api-types.js';
import { saveSettings, settings } from './app.js';
import type { ChatSession } from './chat-session.js';
import { type MessageKey, t } from './language.js';
import { runJavaScript } from './sandbox.js';

export type ToolCall = NonNullable<ChatMessage['toolCalls']>[number];
export type Permission = 'off' | 'ask' | 'chat' | 'always';

interface Tool {
  label: MessageKey;
  run: (values: Readonly<Record<string, unknown>>) => Promise<string>;
}

export const tools: Readonly<Record<string, Tool>> = {
  javascript: { label: 'runJavaScript', run: ({ code }) => runJavaScript(String(code)) },
};

function ofChat(session: ChatSession): Readonly<Record<string, unknown>> {
  return (session.settings.value.tools ?? {}) as Record<string, unknown>;
}

export function permissionOf(session: ChatSession, name: string): Permission {
  const own = ofChat(session)[name];
  if (own === undefined) return 'off';
  if (settings.value?.allowedTools.includes(name)) return 'always';
  return own === 'chat' ? 'chat' : 'ask';
}

export async function permit(session: ChatSession, name: string, permission: Permission): Promise<void> {
  const { [name]: _, ...others } = ofChat(session);
  const left = permission === 'off' ? others : { ...others, [name]: permission === 'chat' ? 'chat' : 'ask' };
  const { tools: _tools, ...rest } = session.settings.value;
  session.settings.value = Object.keys(left).length > 0 ? { ...rest, tools: left } : rest;
  await session.store();
  const allowed = settings.value?.allowedTools ?? [];
  if (allowed.includes(name) === (permission === 'always')) return;
  await saveSettings({
    allowedTools: permission === 'always' ? [...allowed, name] : allowed.filter((other) => other !== name),
  });
}

/** The first call without a result. */
export function openCall({ toolCalls = [] }: ChatMessage): ToolCall | undefined {
  return toolCalls.find(({ state }) => state === undefined);
}

/** Runs a call in one page of this browser, and continues the chat after the last call of the message. */
export async function runCall(session: ChatSession, message: ChatMessage, call: ToolCall): Promise<void> {
  await navigator.locks.request(`chasqui.call.${message.id}.${call.id}`, { ifAvailable: true }, async (lock) => {
    const current = session.messages.value.find(({ id }) => id === message.id);
    const isOpen = current?.toolCalls?.some(({ id, state }) => id === call.id && state === undefined);
    if (lock && isOpen) await finish(session, message.id, { ...call, ...(await resultOf(call)) });
  });
}

export async function declineCall(session: ChatSession, message: ChatMessage, call: ToolCall): Promise<void> {
  // For the model, and therefore not translated.
  await finish(session, message.id, { ...call, state: 'declined', result: 'The user declined this call.' });
}

async function resultOf({ name, arguments: text }: ToolCall): Promise<Pick<ToolCall, 'state' | 'result'>> {
  try {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (!tool) throw new Error(t('unknownTool', { name }));
    return { state: 'done', result: await tool.run(JSON.parse(text) as Record<string, unknown>) };
  } catch (error) {
    return { state: 'failed', result: String(error) };
  }
}

/** A late reply of the app may make the session busy again for a moment. */
function untilIdle(session: ChatSession): Promise<void> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (session.busy.value) return;
      resolve();
      queueMicrotask(() => stop());
    });
  });
}

async function finish(session: ChatSession, id: string, done: ToolCall): Promise<void> {
  await untilIdle(session);
  const message = session.messages.value.find((each) => each.id === id);
  // Another chat was opened meanwhile.
  if (!message) return;
  const toolCalls = (message.toolCalls ?? []).map((call) => (call.id === done.id ? done : call));
  await session.takeResults(
    { ...message, toolCalls },
    toolCalls.every(({ state }) => state !== undefined),
  );
}
