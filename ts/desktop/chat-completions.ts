/** Completions of the app's chats. They continue without a page, and are stored while they grow. */
import { ChasquiError, invalidValue } from '../errors.js';
import type { Chat, ChatChange, ChatMessage, CompletionBody, CompletionError } from './api-types.js';
import { branchTo } from './chat-branch.js';
import { ChatCompletion, type Follower, type RequestCompletion } from './chat-completion.js';
import { textOf } from './chat-files.js';
import { ChatTitles, type TitleParts } from './chat-titles.js';
import { callsOf, TOOLS, toolFields } from './chat-tools.js';
import type { EventBus } from './event-bus.js';
import { LONG_FILES, type PassageChooser } from './passages/choose-passages.js';
import { afterSummary, splitBranch, summaryRequest, WHEN_FULL, whenFull } from './shorten-chat.js';
import type { ChatStore } from './store/chats.js';

const WRITE_EVERY_MS = 1000;
/** Interval of attempts after the last write of a completion has failed. */
const RETRY_EVERY_MS = 5000;
const MIN_TRANSCRIPT_SHARE = 0.01;

export interface CompletionParts extends TitleParts {
  events: EventBus;
  /** Definitions of the tools of MCP servers that the chat offers. */
  mcpTools(chat: Chat, signal: AbortSignal): Promise<object[]>;
  passages: Pick<PassageChooser, 'choose'>;
}

export class ChatCompletions {
  readonly #parts: CompletionParts;
  readonly #titles: ChatTitles;
  /** By chat. A failed one is kept until the next one, for pages that return later. */
  readonly #ofChats = new Map<string, ChatCompletion>();

  constructor(parts: CompletionParts) {
    this.#parts = parts;
    this.#titles = new ChatTitles(parts);
  }

  /** The id of the message that is being completed. */
  runningIn(chat: string): string | null {
    const found = this.#ofChats.get(chat);
    return found?.running === true ? found.message.id : null;
  }

  /**
   * Completes a new message below `parent`, or continues the message `id` if the chat has it.
   * @throws {ChasquiError} `not_found`; `chat_busy`; `invalid_value`
   */
  start(chat: string, body: CompletionBody): void {
    const read = this.#parts.chats.read(chat);
    if (this.runningIn(chat) !== null) throw chatBusy();
    void this.#titles.stop(chat);
    const message = { ...messageOf(read, body), model: modelOf(read) };
    const completion = new ChatCompletion(message);
    this.#ofChats.set(chat, completion);
    completion.done = this.#run(read, completion);
    this.publish(chat);
  }

  /** @throws {ChasquiError} `chat_busy` if the change removes the message before the running completion */
  checkChange(chat: string, { messages }: ChatChange): void {
    const found = this.#ofChats.get(chat);
    const parent = found?.running ? found.message.parent : null;
    if (parent !== null && messages?.some(({ id }) => id === parent) === false) throw chatBusy();
  }

  /** @throws {ChasquiError} `chat_busy` if the message is being completed, or is the one before */
  checkDeletion(chat: string, message: string): void {
    const found = this.#ofChats.get(chat);
    if (found?.running && [found.message.id, found.message.parent].includes(message)) throw chatBusy();
  }

  /** Whether one is running, or the last one failed. */
  has(chat: string): boolean {
    return this.#ofChats.has(chat);
  }

  /** Sends the current state first. Returns a function that unsubscribes. */
  follow(chat: string, follower: Follower): () => void {
    return this.#ofChats.get(chat)?.follow(follower) ?? (() => undefined);
  }

  /** Resolves after the text so far was stored. */
  async stop(chat: string): Promise<void> {
    const found = this.#ofChats.get(chat);
    found?.stop();
    await found?.done;
  }

  /** Call before deleting the chat. */
  async forget(chat: string): Promise<void> {
    await Promise.all([this.stop(chat), this.#titles.stop(chat)]);
    this.#ofChats.delete(chat);
  }

  /** Tells pages that a chat changed. */
  publish(id: string): void {
    this.#parts.events.publish('chat', { id, updatedAt: this.#versionOf(id), running: this.runningIn(id) });
  }

  /** 0 if the store cannot be read: pages then know no newer version. */
  #versionOf(id: string): number | null {
    try {
      return this.#parts.chats.updatedAt(id);
    } catch {
      return 0;
    }
  }

  /** Stops all completions and stores their text. */
  async close(): Promise<void> {
    await Promise.all([...this.#ofChats.keys()].map((chat) => this.stop(chat)));
    this.#ofChats.clear();
    await this.#titles.close();
  }

  async #run(chat: Chat, completion: ChatCompletion): Promise<void> {
    const writer = new MessageWriter(this.#parts.chats, chat.id, completion);
    const error = await this.#complete(chat, completion, writer.changed).catch(toCompletionError);
    const notWritten = writer.close();
    const failed = error ?? notWritten;
    if (failed === null) this.#ofChats.delete(chat.id);
    if (notWritten !== null) this.#retryLater(chat.id, completion, writer, error !== null);
    const hasMessage = completion.hasResult || completion.message.content !== '';
    completion.end({
      message: hasMessage ? completion.message : null,
      error: failed,
      updatedAt: this.#versionOf(chat.id),
    });
    this.publish(chat.id);
    const isWhole = failed === null && !completion.signal.aborted && !completion.message.toolCalls;
    if (isWhole) this.#titles.start(chat.id, () => this.publish(chat.id));
  }

  /** Writes the text once the disk has space again. The next completion of the chat ends the attempts. */
  #retryLater(chat: string, completion: ChatCompletion, writer: MessageWriter, hasFailed: boolean): void {
    const timer = setTimeout(() => {
      if (this.#ofChats.get(chat) !== completion) return;
      if (writer.retry() !== null) return this.#retryLater(chat, completion, writer, hasFailed);
      if (!hasFailed) this.#ofChats.delete(chat);
      this.publish(chat);
    }, RETRY_EVERY_MS);
    timer.unref();
  }

  /** Shortens files, then the chat, as the user chose, while they do not fit into the context. */
  async #complete(chat: Chat, completion: ChatCompletion, changed: () => void): Promise<CompletionError | null> {
    const { message } = completion;
    const branch = branchTo(chat.messages, message.content === '' && !message.toolCalls ? message.parent : message.id);
    const tools = await this.#parts.mcpTools(chat, completion.signal);
    let { summary, rest } = afterSummary(branch);
    let sent: readonly ChatMessage[] = rest;
    for (let tries = 0; ; tries += 1) {
      const error = await completion.read(this.#parts.request, requestBody(chat, summary, sent, tools), changed);
      if (error?.code !== 'context_length_exceeded') return error;
      const chosen = await this.#parts.passages.choose(chat, rest, { sent, error, tries }, completion.signal);
      if (chosen !== null) {
        sent = chosen.branch;
        completion.usePassages(chosen.passages);
        continue;
      }
      const choice = whenFull(chat);
      if (choice === null) return error;
      const { omitted, kept } = splitBranch(rest, error);
      const last = omitted.at(-1);
      if (last === undefined) return error;
      rest = kept;
      sent = kept;
      tries = -1;
      if (choice === 'rolling') continue;
      const summarized = await this.#summarize(chat, summary, omitted, completion.signal);
      if (typeof summarized !== 'string') return summarized;
      summary = summarized;
      this.#parts.chats.addMessages(chat.id, { messages: [{ ...last, stats: { ...last.stats, summary } }] });
    }
  }

  /** Returns the summary, or an error. Null if the completion was stopped. */
  async #summarize(
    chat: Chat,
    summary: string,
    omitted: readonly ChatMessage[],
    signal: AbortSignal,
  ): Promise<string | CompletionError | null> {
    const request: RequestCompletion = (body, own) => this.#parts.request(body, AbortSignal.any([own, signal]));
    for (let share = 1; ; share /= 2) {
      const written = new ChatCompletion({ id: 'summary', parent: null, role: 'assistant', content: '' });
      const body = summaryRequest(modelOf(chat), summary, omitted, share);
      const error = await written.read(request, body, () => undefined);
      if (signal.aborted) return null;
      if (error === null) return written.message.content;
      if (error.code !== 'context_length_exceeded' || share < MIN_TRANSCRIPT_SHARE) return error;
    }
  }
}

/** Stores a growing message: the first text at once, then at most one write per second. */
class MessageWriter {
  #timer: NodeJS.Timeout | undefined;
  #writes = 0;
  #error: CompletionError | null = null;

  constructor(
    readonly chats: ChatStore,
    readonly chat: string,
    readonly completion: ChatCompletion,
  ) {}

  readonly changed = (): void => {
    if (this.#writes === 0) this.#write();
    this.#timer ??= setTimeout(() => this.#write(), WRITE_EVERY_MS);
  };

  /** Returns the error if the last write failed. */
  close(): CompletionError | null {
    if (this.completion.hasResult) this.#write();
    clearTimeout(this.#timer);
    return this.#error;
  }

  /** Writes the text unless the message was changed or deleted meanwhile. Returns the error. */
  retry(): CompletionError | null {
    try {
      const { message } = this.completion;
      const stored = this.chats.read(this.chat).messages.find(({ id }) => id === message.id);
      if (stored === undefined ? this.#writes > 0 : !message.content.startsWith(stored.content)) return null;
    } catch (error) {
      const { message, code } = toCompletionError(error);
      return code === 'not_found' ? null : { message, code };
    }
    this.#write();
    return this.#error;
  }

  /** An error is not final: the disk may have space again at the next write. */
  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { message } = this.completion;
    try {
      this.chats.addMessages(this.chat, {
        messages: [message],
        ...(this.#writes === 0 && { current: message.id }),
      });
      this.#writes += 1;
      this.#error = null;
    } catch (error) {
      const { message: why, code } = toCompletionError(error);
      this.#error = { message: `Could not save the completion: ${why}`, code };
      // The chat was deleted.
      if (code === 'not_found') this.completion.stop();
    }
  }
}

function chatBusy(): ChasquiError {
  return new ChasquiError('chat_busy', 'A completion of this chat is running. Wait for it, or stop it first.');
}

function toCompletionError(error: unknown): CompletionError {
  const { message, code = null } = error as Error & { code?: string };
  return { message, code };
}

/** @throws {ChasquiError} `invalid_value` */
function messageOf({ messages }: Chat, { id, parent }: CompletionBody): ChatMessage {
  const found = messages.find((message) => message.id === id);
  if (found !== undefined && found.role !== 'assistant') {
    throw invalidValue(`The message \`${id}\` is not a completion.`, 'id');
  }
  if (found !== undefined) return found;
  if (!messages.some((message) => message.id === parent)) {
    throw invalidValue(`The chat has no message \`${parent}\`.`, 'parent');
  }
  return { id, parent, role: 'assistant', content: '', createdAt: Date.now() };
}

/** @throws {ChasquiError} `invalid_value` */
function modelOf({ model }: Chat): string {
  if (model) return model;
  throw invalidValue('The chat has no model. Set its field `model` first.');
}

function requestBody(
  { model, systemPrompt, settings }: Chat,
  summary: string,
  branch: readonly ChatMessage[],
  mcpTools: readonly object[],
): object {
  const instructions = [
    systemPrompt.trim() && systemPrompt,
    summary && `Summary of the earlier conversation: ${summary}`,
  ];
  const text = instructions.filter(Boolean).join('\n\n');
  const system = text ? [{ role: 'system', content: text }] : [];
  const { [WHEN_FULL]: _, [TOOLS]: _tools, [LONG_FILES]: _files, ...sampling } = settings;
  return {
    ...sampling,
    ...toolFields({ settings }, branch, mcpTools),
    n: 1,
    model,
    messages: [...system, ...branch.flatMap(toRequestMessages)],
    stream: true,
    stream_options: { include_usage: true },
    timings: true,
  };
}

function toRequestMessages(message: ChatMessage): object[] {
  const { calls, results } = callsOf(message);
  const { role, images = [], audio = [] } = message;
  const content = textOf(message);
  if (images.length + audio.length === 0) return [{ role, content, ...calls }, ...results];
  const parts = [
    ...images.map((url) => ({ type: 'image_url', image_url: { url } })),
    ...audio.map((data) => ({ type: 'input_audio', input_audio: { data, format: 'wav' } })),
  ];
  return [{ role, content: [...(content ? [{ type: 'text', text: content }] : []), ...parts] }];
}
