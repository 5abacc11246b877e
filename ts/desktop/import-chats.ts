/** Reads exported chats: of this app, ChatGPT, LM Studio and Open WebUI. The content is untrusted. */
import { type ChasquiError, invalidValue } from '../errors.js';
import type { ChatChange, ChatMessage } from './api-types.js';
import { TOOLS } from './chat-tools.js';

/** A chat to store, with the times of its export in milliseconds. */
export interface ImportedChat {
  chat: ChatChange;
  createdAt: number | null;
  updatedAt: number | null;
}

const MAX_CHATS = 5000;
const MAX_NODES = 20_000;
const MAX_TITLE = 500;

type Json = Record<string, unknown>;

/** A message of another program. Those without a role or text are left out, and their replies move up. */
interface Node {
  key: string;
  parent: string | null;
  role: unknown;
  text: string;
  reasoning?: string;
  model?: unknown;
  createdAt?: number | null;
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectOf = (value: unknown): Json => (isObject(value) ? value : {});
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const keyOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const seconds = (value: unknown): number | null => milliseconds(Number(value) * 1000);

/** Null if it is not a date. */
function milliseconds(value: unknown): number | null {
  return typeof value === 'number' && value > 0 && value < 8.64e15 ? Math.round(value) : null;
}

/** `folders`: names of all folders, including empty ones. @throws {ChasquiError} `invalid_value` */
export function readExport(text: string, name: string): { chats: ImportedChat[]; folders: string[] } {
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch {
    throw refused(name, 'is not JSON.');
  }
  const { chats, folders } = objectOf(root);
  const found = Array.isArray(root) ? root : Array.isArray(chats) ? chats : [root];
  if (found.length > MAX_CHATS) throw refused(name, `has more than ${MAX_CHATS} chats.`);
  const names = Array.isArray(folders) ? folders : [];
  if (names.length > MAX_CHATS) throw refused(name, `has more than ${MAX_CHATS} folders.`);
  const read = found.map((chat) => {
    const known = isObject(chat) ? FORMATS.find(({ matches }) => matches(chat))?.read(chat, name) : undefined;
    if (known !== undefined) return known;
    throw refused(name, 'is not an export of chats from chasqui, ChatGPT, LM Studio or Open WebUI.');
  });
  return { chats: read, folders: names.map(textOf) };
}

interface Format {
  matches(chat: Json): boolean;
  read(chat: Json, name: string): ImportedChat;
}

const FORMATS: readonly Format[] = [
  { matches: ({ mapping }) => isObject(mapping), read: readChatGpt },
  { matches: ({ chat }) => isObject(chat) && isObject(objectOf(chat.history).messages), read: readOpenWebUi },
  { matches: ({ messages }) => listOf(messages).some(({ versions }) => Array.isArray(versions)), read: readLmStudio },
  {
    matches: ({ messages }) => listOf(messages).every((each) => 'parent' in each) && Array.isArray(messages),
    read: readOwn,
  },
];

function readOwn({
  title,
  model,
  systemPrompt,
  settings,
  messages,
  current,
  pinned,
  folder,
  createdAt,
  updatedAt,
}: Json): ImportedChat {
  const given = Object.entries({
    title,
    model,
    systemPrompt,
    settings: isObject(settings) ? withoutTools(settings) : settings,
    messages,
    current,
    pinned,
    folder,
  });
  const chat = Object.fromEntries(given.filter(([, value]) => value !== undefined)) as ChatChange;
  return { chat, createdAt: milliseconds(createdAt), updatedAt: milliseconds(updatedAt) };
}

/** A file must not permit calls, which its messages can contain. */
function withoutTools({ [TOOLS]: _, ...settings }: Json): Json {
  return settings;
}

function readChatGpt(
  { title, mapping, current_node: current, create_time, update_time }: Json,
  name: string,
): ImportedChat {
  const nodes = Object.entries(objectOf(mapping)).map(([key, value]): Node => {
    const { message, parent } = objectOf(value);
    const { author, content, create_time: at, metadata } = objectOf(message);
    const { content_type: type, parts } = objectOf(content);
    const isText = type === 'text' || type === 'multimodal_text';
    const text = isText && Array.isArray(parts) ? parts.map(textOf).filter(Boolean).join('\n\n') : '';
    const model = objectOf(metadata).model_slug;
    return { key, parent: keyOf(parent), role: objectOf(author).role, text, model, createdAt: seconds(at) };
  });
  const chat = toChat(textOf(title), nodes, keyOf(current), name);
  return { chat, createdAt: seconds(create_time), updatedAt: seconds(update_time) };
}

function readOpenWebUi({ title, chat, pinned, created_at, updated_at }: Json, name: string): ImportedChat {
  const { history, title: own } = objectOf(chat);
  const { messages, currentId } = objectOf(history);
  const nodes = Object.entries(objectOf(messages)).map(([key, value]): Node => {
    const { parentId, role, content, model, timestamp } = objectOf(value);
    return { key, parent: keyOf(parentId), role, text: textOf(content), model, createdAt: seconds(timestamp) };
  });
  const read = toChat(textOf(title) || textOf(own), nodes, keyOf(currentId), name);
  const times = { createdAt: seconds(created_at), updatedAt: seconds(updated_at) };
  return { chat: { ...read, ...(pinned === true && { pinned }) }, ...times };
}

/** Each message has versions; replies follow the selected one. */
function readLmStudio({ name: title, messages, systemPrompt, pinned, createdAt }: Json, name: string): ImportedChat {
  const nodes: Node[] = [];
  let parent: string | null = null;
  for (const [index, { versions, currentlySelected }] of listOf(messages).entries()) {
    const all = listOf(versions);
    for (const [at, version] of all.entries()) nodes.push({ key: `${index}.${at}`, parent, ...lmStudioText(version) });
    const selected =
      typeof currentlySelected === 'number' && all[currentlySelected] ? currentlySelected : all.length - 1;
    if (all.length > 0) parent = `${index}.${selected}`;
  }
  const chat = toChat(textOf(title), nodes, parent, name);
  const prompt = textOf(systemPrompt) || chat.systemPrompt;
  const time = milliseconds(createdAt);
  return {
    chat: { ...chat, ...(prompt && { systemPrompt: prompt }), ...(pinned === true && { pinned }) },
    createdAt: time,
    updatedAt: time,
  };
}

function lmStudioText({ role, content, steps, senderInfo }: Json): Omit<Node, 'key' | 'parent'> {
  const blocks = Array.isArray(steps) ? listOf(steps) : [{ content }];
  const isThinking = ({ style }: Json) => objectOf(style).type === 'thinking';
  const join = (some: Json[]) =>
    some
      .flatMap((block) => listOf(block.content).map(({ text }) => textOf(text)))
      .filter(Boolean)
      .join('\n\n');
  const reasoning = join(blocks.filter(isThinking));
  const text = join(blocks.filter((block) => !isThinking(block)));
  return { role, text, model: objectOf(senderInfo).senderName, ...(reasoning && { reasoning }) };
}

/** A system message at the root becomes the system prompt. */
function toChat(title: string, nodes: readonly Node[], current: string | null, name: string): ChatChange {
  if (nodes.length > MAX_NODES) throw refused(name, `has a chat with more than ${MAX_NODES} messages.`);
  const isKept = ({ role, text }: Node) => (role === 'user' || role === 'assistant') && text !== '';
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  const ids = new Map(nodes.filter(isKept).map(({ key }, index) => [key, `m${index + 1}`]));
  const parents = new Map<string, string | null>();
  for (const { key } of nodes) settleParent(key, byKey, ids, parents);
  const messages = nodes.filter(isKept).map((node): ChatMessage => {
    const { key, role, text, reasoning, model, createdAt } = node;
    return {
      id: ids.get(key) as string,
      parent: parents.get(key) ?? null,
      role: role as ChatMessage['role'],
      content: text,
      ...(reasoning && { reasoning }),
      ...(role === 'assistant' && typeof model === 'string' && model && { model }),
      ...(createdAt && { createdAt }),
    };
  });
  const system = nodes.find(({ role, text }) => role === 'system' && text !== '');
  const shown = current === null ? undefined : (ids.get(current) ?? parents.get(current));
  return {
    title: title.slice(0, MAX_TITLE),
    messages: inOrder(messages),
    ...(system && { systemPrompt: system.text }),
    ...(shown && { current: shown }),
  };
}

/** Sets the next kept ancestor of a node, and of those between. Each node is visited once. */
function settleParent(
  key: string,
  byKey: ReadonlyMap<string, Node>,
  ids: ReadonlyMap<string, string>,
  parents: Map<string, string | null>,
): void {
  const path: string[] = [];
  let next: string | null = key;
  while (next !== null && !parents.has(next) && byKey.has(next)) {
    path.push(next);
    // Ends cycles, and is replaced below.
    parents.set(next, null);
    next = byKey.get(next)?.parent ?? null;
  }
  let ancestor = next === null ? null : (ids.get(next) ?? parents.get(next) ?? null);
  for (const each of path.reverse()) {
    parents.set(each, ancestor);
    ancestor = ids.get(each) ?? ancestor;
  }
}

/** Parents before their replies. */
function inOrder(messages: readonly ChatMessage[]): ChatMessage[] {
  const replies = new Map<string | null, ChatMessage[]>();
  for (const message of messages) {
    const siblings = replies.get(message.parent);
    if (siblings === undefined) replies.set(message.parent, [message]);
    else siblings.push(message);
  }
  const sorted = [...(replies.get(null) ?? [])];
  // Grows while it is read.
  for (const { id } of sorted) sorted.push(...(replies.get(id) ?? []));
  return sorted;
}

function refused(name: string, reason: string): ChasquiError {
  return invalidValue(`${name} ${reason}`, 'input.file_data');
}
