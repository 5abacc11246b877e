/** One chat as it is shown: its tree of messages, what is streaming into it, and what can be done with it. */
import { batch, computed, type ReadonlySignal, signal } from '@preact/signals';
import type { Chat, ChatChange, ChatMessage } from '../../api-types.js';
import { ApiError, call, get, isAbort, post, wordsOf } from './api.js';
import { type Completion, streamCompletion } from './chat-stream.js';
import { alternativesOf, branchTo, lastUnder, titleOf } from './chat-tree.js';
import { refreshChats } from './chats.js';

/** What is being written: `base` is the text that it continues. */
interface Live {
  id: string;
  base: string;
  completion: Completion | null;
}

export class ChatSession {
  readonly id = signal<string | null>(null);
  readonly title = signal('');
  readonly model = signal('');
  readonly systemPrompt = signal('');
  readonly settings = signal<Readonly<Record<string, unknown>>>({});
  readonly messages = signal<readonly ChatMessage[]>([]);
  readonly current = signal<string | null>(null);
  readonly live = signal<Live | null>(null);
  readonly error = signal<ApiError | null>(null);
  readonly branch: ReadonlySignal<ChatMessage[]> = computed(() => branchTo(this.messages.value, this.current.value));
  readonly busy: ReadonlySignal<boolean> = computed(() => this.live.value !== null);
  #controller: AbortController | undefined;
  /** What is being asked: once it has settled, what was written is kept in its chat. */
  #asked: Promise<void> | undefined;
  /** The chat that is shown. It learns its id when it is stored, even if another one is being opened by then. */
  #chat: { id: string | null } = { id: null };
  /** How often a chat was opened. */
  #opened = 0;
  /** The messages that are stored as they are; a changed one is another object. */
  readonly #stored = new WeakSet<ChatMessage>();

  /** Shows a chat that was stored, or an empty one that is stored with its first message. */
  async open(id: string | null): Promise<void> {
    this.#opened += 1;
    if (id === this.id.value && id !== null) return;
    this.stop();
    const opened = this.#opened;
    await this.#asked?.catch(() => undefined);
    const chat = id === null ? null : await get<Chat>(`/chats/${encodeURIComponent(id)}`);
    // Whoever has opened another one meanwhile does not want this one any more.
    if (opened === this.#opened) this.#show(chat);
  }

  #show(chat: Chat | null): void {
    batch(() => {
      this.#chat = { id: chat?.id ?? null };
      this.id.value = this.#chat.id;
      this.title.value = chat?.title ?? '';
      this.messages.value = chat?.messages ?? [];
      this.current.value = chat?.current ?? null;
      this.live.value = null;
      this.error.value = null;
      if (!chat) return;
      this.model.value = chat.model ?? this.model.value;
      for (const message of chat.messages) this.#stored.add(message);
      this.systemPrompt.value = chat.systemPrompt;
      this.settings.value = chat.settings;
    });
  }

  async send(content: string, images: readonly string[]): Promise<void> {
    if (this.busy.value) return;
    const message = newMessage('user', this.current.value, content, images);
    this.#append(message);
    await this.#complete();
  }

  /** Writes the completion of the last question once more, as a branch. */
  async regenerate(id: string): Promise<void> {
    const message = this.#find(id);
    if (!message || this.busy.value) return;
    this.current.value = message.role === 'user' ? message.id : message.parent;
    await this.#complete();
  }

  /** Another text in the place of a message, as a branch; one of the user's is asked. */
  async edit(id: string, content: string): Promise<void> {
    const message = this.#find(id);
    if (!message || this.busy.value) return;
    const edited = newMessage(message.role, message.parent, content, message.images ?? []);
    this.#append(edited);
    if (message.role === 'user') await this.#complete();
    else await this.store();
  }

  /** Goes on where the last completion ended. */
  async continue(id: string): Promise<void> {
    const message = this.#find(id);
    if (message && !this.busy.value) await this.#stream(message);
  }

  /** Asks once more after an error. */
  async retry(): Promise<void> {
    const last = this.branch.value.at(-1);
    if (!last || this.busy.value) return;
    if (last.role === 'user') await this.#complete();
    else await this.#stream(last);
  }

  stop(): void {
    this.#controller?.abort();
  }

  /** The alternatives of a message, and which of them it is. */
  alternatives(message: ChatMessage): { at: number; all: ChatMessage[] } {
    const all = alternativesOf(this.messages.value, message);
    return { at: all.findIndex(({ id }) => id === message.id), all };
  }

  async switchTo(id: string): Promise<void> {
    this.current.value = lastUnder(this.messages.value, id);
    await this.store();
  }

  /** A new chat with the messages up to this one; returns its id. */
  async branchOff(id: string): Promise<string> {
    const messages = branchTo(this.messages.value, id);
    const chat = await post<Chat>('/chats', { ...this.#header(), messages, current: id });
    await refreshChats();
    return chat.id;
  }

  async rename(title: string): Promise<void> {
    this.title.value = title;
    await this.store();
  }

  /** Stores the chat as it is, if it has a message. */
  async store(): Promise<void> {
    const messages = this.messages.value.filter(({ id }) => id !== this.#unwritten);
    if (messages.length === 0) return;
    const current = this.#unwritten === this.current.value ? this.#find(this.#unwritten ?? '')?.parent : undefined;
    const content = { current: current ?? this.current.value };
    const chat = this.#chat;
    if (chat.id === null) {
      const opened = this.#opened;
      chat.id = (await post<Chat>('/chats', { ...this.#header(), messages, ...content })).id;
      // Whoever has opened another one meanwhile is not led back to this one.
      if (opened === this.#opened) this.id.value = chat.id;
    } else {
      const path = `/chats/${encodeURIComponent(chat.id)}`;
      await call('PUT', path, { ...this.#header(), ...content });
      // The others are stored already; with their images they may be large.
      const changed = messages.filter((message) => !this.#stored.has(message));
      if (changed.length > 0) await post(`${path}/messages`, { messages: changed, ...content });
    }
    for (const message of messages) this.#stored.add(message);
    await refreshChats();
  }

  /** The message that a completion is about to be written into, as long as there is nothing of it. */
  get #unwritten(): string | null {
    const live = this.live.value;
    return live && live.base === '' ? live.id : null;
  }

  #header(): ChatChange {
    return {
      title: this.title.value,
      model: this.model.value || null,
      systemPrompt: this.systemPrompt.value,
      settings: { ...this.settings.value },
    };
  }

  #find(id: string): ChatMessage | undefined {
    return this.messages.value.find((message) => message.id === id);
  }

  #append(message: ChatMessage): void {
    batch(() => {
      if (this.messages.value.length === 0) this.title.value = titleOf(message.content);
      this.messages.value = [...this.messages.value, message];
      this.current.value = message.id;
    });
  }

  /** Has the message after the current one written. */
  async #complete(): Promise<void> {
    const message = newMessage('assistant', this.current.value, '', []);
    this.#append(message);
    await this.#stream(message);
  }

  async #stream(message: ChatMessage): Promise<void> {
    const controller = new AbortController();
    this.#controller = controller;
    const branch = branchTo(this.messages.value, message.content ? message.id : message.parent);
    batch(() => {
      this.error.value = null;
      this.live.value = { id: message.id, base: message.content, completion: null };
    });
    const frame = new EachFrame<Completion>((completion) => {
      if (this.#controller === controller) this.live.value = { id: message.id, base: message.content, completion };
    });
    const request = {
      model: this.model.value,
      systemPrompt: this.systemPrompt.value,
      settings: this.settings.value,
      branch,
    };
    const chat = this.#chat;
    try {
      // Stored before it is asked: a question survives whatever becomes of its completion.
      await this.store();
      controller.signal.throwIfAborted();
      this.#asked = streamCompletion(request, controller.signal, (completion) => frame.set({ ...completion }));
      await this.#asked;
    } catch (error) {
      if (!isAbort(error) && chat === this.#chat)
        this.error.value = error instanceof ApiError ? error : new ApiError(wordsOf(error), null, 0);
    }
    frame.end();
    await this.#finish(message, frame.last);
  }

  async #finish(message: ChatMessage, completion: Completion | undefined): Promise<void> {
    // Another chat is shown by now, and this one was stored before anything was written.
    if (this.#find(message.id) === undefined) return;
    batch(() => {
      this.live.value = null;
      if (completion) this.#replace(completed(message, completion, this.model.value));
      else if (!message.content) this.#remove(message);
    });
    const chat = this.#chat;
    await this.store().catch((error: unknown) => {
      // It may have been removed since another one is shown.
      if (chat === this.#chat)
        this.error.value ??= new ApiError(`The chat could not be stored: ${wordsOf(error)}`, null, 0);
    });
  }

  #replace(message: ChatMessage): void {
    this.messages.value = this.messages.value.map((other) => (other.id === message.id ? message : other));
  }

  /** A completion of which nothing came leaves no message. */
  #remove({ id, parent }: ChatMessage): void {
    this.messages.value = this.messages.value.filter((message) => message.id !== id);
    this.current.value = parent;
  }
}

function newMessage(
  role: ChatMessage['role'],
  parent: string | null,
  content: string,
  images: readonly string[],
): ChatMessage {
  return {
    id: crypto.randomUUID(),
    parent,
    role,
    content,
    ...(images.length > 0 && { images: [...images] }),
    createdAt: Date.now(),
  };
}

function completed(message: ChatMessage, completion: Completion, model: string): ChatMessage {
  const { content, reasoning, ...stats } = completion;
  const thought = (message.reasoning ?? '') + reasoning;
  return {
    ...message,
    content: message.content + content,
    ...(thought && { reasoning: thought }),
    model,
    stats: { ...stats },
  };
}

/** Passes on the newest value once a frame: tokens come faster than a screen shows them. */
class EachFrame<Value> {
  last: Value | undefined;
  #waiting = false;
  #ended = false;

  constructor(readonly show: (value: Value) => void) {}

  set(value: Value): void {
    this.last = value;
    if (this.#waiting) return;
    this.#waiting = true;
    // A hidden page gets no frames.
    if (document.hidden) setTimeout(this.#flush, 250);
    else requestAnimationFrame(this.#flush);
  }

  end(): void {
    this.#ended = true;
  }

  readonly #flush = () => {
    this.#waiting = false;
    if (!this.#ended && this.last !== undefined) this.show(this.last);
  };
}
