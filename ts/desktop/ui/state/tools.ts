/** Calls of tools: permissions, and the functions that run them. */
import { computed, effect } from '@preact/signals';
import type { ChatMessage, McpCallResult } from '../../api-types.js';
import { post } from './api.js';
import { saveSettings, settings } from './app.js';
import type { ChatSession } from './chat-session.js';
import { t } from './language.js';
import { mcp, mcpTools } from './mcp.js';
import { runJavaScript } from './sandbox.js';

export type ToolCall = NonNullable<ChatMessage['toolCalls']>[number];
export type Permission = 'off' | 'ask' | 'chat' | 'always';

type Result = Pick<ToolCall, 'state' | 'result'>;

/** A call of a model: where it is stored, and whether the user allowed it alone. */
interface Request {
  chat: string | null;
  message: string;
  call: ToolCall;
  once: boolean;
}

export interface Tool {
  /** Identifies the tool in permissions. */
  key: string;
  title: string;
  /** The MCP server, if it has one. */
  server?: string;
  run: (request: Request) => Promise<Result>;
}

export const JAVASCRIPT = 'javascript';

function javaScript(): Tool {
  const run = async ({ call: { arguments: text } }: Request): Promise<Result> => {
    const { code } = JSON.parse(text) as { code: unknown };
    return { state: 'done', result: await runJavaScript(String(code)) };
  };
  return { key: JAVASCRIPT, title: t('runJavaScript'), run };
}

/** The tool that a model calls by this name. Undefined if there is none, or until it is known. */
export function toolOf(name: string): Tool | undefined {
  if (name === JAVASCRIPT) return javaScript();
  const found = mcpTools.value.find((each) => each.name === name);
  if (!found) return undefined;
  const { key, tool, server } = found;
  const run = ({ chat, message, call, once }: Request) =>
    post<McpCallResult>(`/chats/${chat}/calls`, { message, call: call.id, server, tool, once });
  return { key, title: `${tool} (${server})`, server, run };
}

/** Whether all tools are known. */
export const areToolsKnown = computed(() => mcp.value !== undefined);

function ofChat(session: ChatSession): Readonly<Record<string, unknown>> {
  return (session.settings.value.tools ?? {}) as Record<string, unknown>;
}

export function permissionOf(session: ChatSession, name: string): Permission {
  const own = ofChat(session)[name];
  if (own === undefined) return 'off';
  const identity = identityOf(name);
  if (settings.value?.allowedTools.includes(boundTo(identity, name, '\n'))) return 'always';
  return own === boundTo(identity, 'chat', ':') ? 'chat' : 'ask';
}

/** Another MCP server under the same name has another identity. Null for tools of the page. */
function identityOf(key: string): string | null {
  return key === JAVASCRIPT ? null : (mcpTools.value.find((each) => each.key === key)?.identity ?? '');
}

function boundTo(identity: string | null, text: string, separator: string): string {
  return identity === null ? text : text + separator + identity;
}

export async function permit(session: ChatSession, keys: readonly string[], permission: Permission): Promise<void> {
  const others = Object.entries(ofChat(session)).filter(([key]) => !keys.includes(key));
  const own =
    permission === 'off'
      ? []
      : keys.map((key) => [key, permission === 'chat' ? boundTo(identityOf(key), 'chat', ':') : 'ask']);
  const left = Object.fromEntries([...others, ...own]);
  const { tools: _tools, ...rest } = session.settings.value;
  session.settings.value = Object.keys(left).length > 0 ? { ...rest, tools: left } : rest;
  await session.store();
  const allowed = settings.value?.allowedTools ?? [];
  const kept = allowed.filter((each) => !keys.some((key) => each === key || each.startsWith(`${key}\n`)));
  const added = permission === 'always' ? keys.map((key) => boundTo(identityOf(key), key, '\n')) : [];
  if (added.length > 0 || kept.length < allowed.length) await saveSettings({ allowedTools: [...kept, ...added] });
}

/** The first call without a result. */
export function openCall({ toolCalls = [] }: ChatMessage): ToolCall | undefined {
  return toolCalls.find(({ state }) => state === undefined);
}

/**
 * Runs a call in one page of this browser, and continues the chat after the last call of the message. `once`: the user
 * allowed this call alone.
 */
export async function runCall(session: ChatSession, message: ChatMessage, call: ToolCall, once = false): Promise<void> {
  await navigator.locks.request(`chasqui.call.${message.id}.${call.id}`, { ifAvailable: true }, async (lock) => {
    const current = session.messages.value.find(({ id }) => id === message.id);
    const isOpen = current?.toolCalls?.some(({ id, state }) => id === call.id && state === undefined);
    if (lock && isOpen)
      await finish(session, message.id, {
        ...call,
        ...(await resultOf({ chat: session.id.value, message: message.id, call, once })),
      });
  });
}

export async function declineCall(session: ChatSession, message: ChatMessage, call: ToolCall): Promise<void> {
  // For the model, and therefore not translated.
  await finish(session, message.id, { ...call, state: 'declined', result: 'The user declined this call.' });
}

async function resultOf(request: Request): Promise<Result> {
  const { name } = request.call;
  try {
    const tool = toolOf(name);
    if (!tool) throw new Error(t('unknownTool', { name }));
    return await tool.run(request);
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
