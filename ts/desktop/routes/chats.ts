/** The chat history, and its export as documents. */
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { invalidValue } from '../../errors.js';
import { limited, objectOf, oneOf, string } from '../../http/schema/json-schema.js';
import type { Chat, ChatMessage } from '../api-types.js';
import { branchTo } from '../chat-branch.js';
import { readFile } from '../chat-files.js';
import { type ImportedChat, readExport } from '../import-chats.js';
import {
  chat,
  chatChange,
  chatFile,
  chatList,
  chatMessages,
  chatVersion,
  documentBody,
  importReply,
  newFolder,
} from '../schemas/chats.js';
import type { DesktopApp, DesktopRoutes } from './context.js';

/** For several full-size images and recordings. */
const BODIES = { bodyLimit: 48 * 2 ** 20, config: { imageLists: ['images', 'audio'] } };

const params = objectOf({ id: limited(string, { maxLength: 64 }) });
const searchQuery = objectOf({ text: limited(string, { maxLength: 500, default: '' }) });
const exportQuery = objectOf({ format: limited(oneOf('md', 'json'), { default: 'md' }) });

export function chatsRoutes(app: DesktopRoutes, { chats, completions, events }: DesktopApp): void {
  const shown = (chat: Chat): Chat => ({ ...chat, running: completions.runningIn(chat.id) });

  const list = { summary: 'List or search chats', querystring: searchQuery, response: { 200: chatList } };
  app.get('/api/v1/chats', { schema: list }, async ({ query }) => {
    return {
      chats: chats.list(query.text).map((listed) => ({ ...listed, running: completions.runningIn(listed.id) })),
      folders: chats.folders.list(),
    };
  });

  const create = { summary: 'Create a chat', body: chatChange, response: { 201: chat } };
  app.post('/api/v1/chats', { schema: create, ...BODIES }, async ({ body }, reply) => {
    const created = chats.create(body);
    completions.publish(created.id);
    return reply.code(201).send(shown(created));
  });

  const read = { summary: 'Read a chat with all branches', params, response: { 200: chat } };
  app.get('/api/v1/chats/:id', { schema: read }, async ({ params: { id } }) => shown(chats.read(id)));

  const change = { summary: 'Update a chat', params, body: chatChange, response: { 200: chat } };
  app.put('/api/v1/chats/:id', { schema: change, ...BODIES }, async ({ params: { id }, body }) => {
    completions.checkChange(id, body);
    const changed = chats.change(id, body);
    completions.publish(id);
    return shown(changed);
  });

  const add = {
    summary: 'Add or replace messages of a chat',
    params,
    body: chatMessages,
    response: { 200: chatVersion },
  };
  app.post('/api/v1/chats/:id/messages', { schema: add, ...BODIES }, async ({ params: { id }, body }) => {
    chats.addMessages(id, body);
    completions.publish(id);
    // Not null: `addMessages` has found the chat.
    return { updatedAt: chats.updatedAt(id) as number };
  });

  const removeMessage = {
    summary: 'Delete a message of a chat',
    params: objectOf({ ...params.properties, message: params.properties.id }),
    response: { 200: chat },
  };
  app.delete('/api/v1/chats/:id/messages/:message', { schema: removeMessage }, async ({ params: { id, message } }) => {
    completions.checkDeletion(id, message);
    const changed = chats.deleteMessage(id, message);
    completions.publish(id);
    return shown(changed);
  });

  const remove = { summary: 'Delete a chat', params, produces: { 204: [] } };
  app.delete('/api/v1/chats/:id', { schema: remove }, async ({ params: { id } }, reply) => {
    await completions.forget(id);
    chats.delete(id);
    completions.publish(id);
    return reply.code(204).send();
  });

  const document = { summary: 'Read the text of a file', body: documentBody, response: { 200: chatFile } };
  app.post('/api/v1/documents', { schema: document, ...BODIES }, ({ body }) => readFile(body));

  const importing = { summary: 'Import chats', body: documentBody, response: { 200: importReply } };
  app.post('/api/v1/chats/import', { schema: importing, ...BODIES }, async (request) => {
    const { filename, file_data: data } = request.body.input;
    const text = Buffer.from(data.slice(data.indexOf(',') + 1), 'base64').toString();
    const found = readExport(text, filename);
    for (const each of found.chats) checkImported(request, each);
    for (const name of found.folders) checkFolder(request, name);
    const ids = chats.import(found.chats, found.folders);
    events.publish('folders', {});
    return { imported: ids.length };
  });

  const exportAll = { summary: 'Export all chats', produces: { 200: ['application/json'] } };
  app.get('/api/v1/chats/export', { schema: exportAll }, async (_request, reply) => {
    reply.type('application/json; charset=utf-8').header('content-disposition', 'attachment; filename="chats.json"');
    return reply.send(Readable.from(exportOf(chats)));
  });

  const exported = {
    summary: 'Export a chat',
    params,
    querystring: exportQuery,
    produces: { 200: ['text/markdown', 'application/json'] },
  };
  app.get('/api/v1/chats/:id/export', { schema: exported }, async ({ params: { id }, query: { format } }, reply) => {
    const found = chats.read(id);
    reply.type(format === 'md' ? 'text/markdown; charset=utf-8' : 'application/json; charset=utf-8');
    reply.header('content-disposition', `attachment; filename="${fileName(found, format)}"`);
    const text = format === 'md' ? toMarkdown(found) : `${JSON.stringify(found, null, 2)}\n`;
    return reply.serializer((document: string) => document).send(text);
  });
}

/** Reads one chat at a time: together they may have gigabytes of images. */
function* exportOf(chats: DesktopApp['chats']): Generator<string> {
  yield `{"folders":${JSON.stringify(chats.folders.list().map(({ name }) => name))},"chats":[`;
  for (const [index, id] of chats.ids().entries()) yield `${index > 0 ? ',' : ''}\n${JSON.stringify(chats.read(id))}`;
  yield '\n]}\n';
}

/** @throws {ChasquiError} `invalid_value` */
function checkImported(request: FastifyRequest, { chat: imported }: ImportedChat): void {
  const validate: (value: unknown) => unknown = request.compileValidationSchema(chatChange as object, 'body');
  const { error } = validate(imported) as { error?: Error };
  if (error === undefined) return;
  const reason = `The chat \`${String(imported.title).slice(0, 60)}\` cannot be imported. ${error.message}`;
  throw invalidValue(reason, 'input.file_data');
}

/** @throws {ChasquiError} `invalid_value` */
function checkFolder(request: FastifyRequest, name: string): void {
  const validate: (value: unknown) => unknown = request.compileValidationSchema(newFolder as object, 'body');
  const { error } = validate({ name }) as { error?: Error };
  if (error === undefined) return;
  throw invalidValue(`The folder \`${name.slice(0, 60)}\` cannot be imported. ${error.message}`, 'input.file_data');
}

const NAMES: Record<ChatMessage['role'], string> = { system: 'System', user: 'You', assistant: 'Assistant' };

export function shownBranch({ messages, current }: Chat): ChatMessage[] {
  return branchTo(messages, current ?? messages.at(-1)?.id ?? null);
}

export function toMarkdown(chat: Chat): string {
  const system = chat.systemPrompt === '' ? [] : [`> ${chat.systemPrompt.replaceAll('\n', '\n> ')}`];
  const messages = shownBranch(chat).map((message) => {
    const images = (message.images ?? []).map((_, index) => `*(image ${index + 1})*`).join(' ');
    const audio = (message.audio ?? []).map((_, index) => `*(recording ${index + 1})*`).join(' ');
    const files = (message.files ?? []).map(({ name }) => `*(file ${name})*`).join(' ');
    const name = message.role === 'assistant' && message.model ? message.model : NAMES[message.role];
    return [`## ${name}`, ...[images, audio, files].filter(Boolean), message.content].join('\n\n');
  });
  return `${[`# ${chat.title || 'Chat'}`, ...system, ...messages].join('\n\n')}\n`;
}

/** A file name that is valid on every system. */
export function fileName({ title, id }: Chat, ending: string): string {
  const name = title
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 60);
  return `${name || `chat-${id.slice(0, 8)}`}.${ending}`;
}
