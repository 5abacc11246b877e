/** One shown chat: its message tree, the streaming completion, and its actions. */
import { batch, computed, type ReadonlySignal, signal } from '@preact/signals';
import type { Chat, ChatChange, ChatMessage } from '../../api-types.js';
import { ApiError, call, get, isAbort, post, wordsOf } from './api.js';
import { type Completion, streamCompletion } from './chat-stream.js';
import { alternativesOf, branchTo, lastUnder, titleOf } from './chat-tree.js';
import { refreshChats } from './chats.js';

/** A completion in progress; `base` is the text it continues. */
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
  /** Settles after the completion in progress was stored. */
  #asked: Promise<void> | undefined;
  /** The shown chat. It may get its id after another chat was opened. */
  #chat: { id: string | null } = { id: null };
  /** Counts opened chats, to detect stale replies. */
  #opened = 0;
  /** Messages that are stored in this exact version. */
  readonly #stored = new WeakSet<ChatMessage>();

  /** Opens a stored chat, or an empty one that is stored with its first message. */
  async open(id: string | null): Promise<void> {
    this.#opened += 1;
    if (id === this.id.value && id !== null) return;
    this.stop();
    const opened = this.#opened;
    await this.#asked?.catch(() => undefined);
    const chat = id === null ? null : await get<Chat>(`/chats/${encodeURIComponent(id)}`);
    // Another chat was opened meanwhile.
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

  /** Regenerates the last completion as a branch. */
  async regenerate(id: string): Promise<void> {
    const message = this.#find(id);
    if (!message || this.busy.value) return;
    this.current.value = message.role === 'user' ? message.id : message.parent;
    await this.#complete();
  }

  /** Edits a message as a branch; an edited user message is sent. */
  async edit(id: string, content: string): Promise<void> {
    const message = this.#find(id);
    if (!message || this.busy.value) return;
    const edited = newMessage(message.role, message.parent, content, message.images ?? []);
    this.#append(edited);
    if (message.role === 'user') await this.#complete();
    else await this.store();
  }

  /** Continues the last completion. */
  async continue(id: string): Promise<void> {
    const message = this.#find(id);
    if (message && !this.busy.value) await this.#stream(message);
  }

  /** Retries after an error. */
  async retry(): Promise<void> {
    const last = this.branch.value.at(-1);
    if (!last || this.busy.value) return;
    if (last.role === 'user') await this.#complete();
    else await this.#stream(last);
  }

  stop(): void {
    this.#controller?.abort();
  }

  /** The alternatives of a message, and its index among them. */
  alternatives(message: ChatMessage): { at: number; all: ChatMessage[] } {
    const all = alternativesOf(this.messages.value, message);
    return { at: all.findIndex(({ id }) => id === message.id), all };
  }

  async switchTo(id: string): Promise<void> {
    this.current.value = lastUnder(this.messages.value, id);
    await this.store();
  }

  /** Creates a chat with the messages up to this one; returns its id. */
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

  /** Stores the chat if it has messages. */
  async store(): Promise<void> {
    const messages = this.messages.value.filter(({ id }) => id !== this.#unwritten);
    if (messages.length === 0) return;
    const current = this.#unwritten === this.current.value ? this.#find(this.#unwritten ?? '')?.parent : undefined;
    const content = { current: current ?? this.current.value };
    const chat = this.#chat;
    if (chat.id === null) {
      const opened = this.#opened;
      chat.id = (await post<Chat>('/chats', { ...this.#header(), messages, ...content })).id;
      // Navigate only if this chat is still shown.
      if (opened === this.#opened) this.id.value = chat.id;
    } else {
      const path = `/chats/${encodeURIComponent(chat.id)}`;
      // Send changed messages only: images may be large.
      const changed = messages.filter((message) => !this.#stored.has(message));
      // First, because the server rejects a `current` that it does not have.
      if (changed.length > 0) await post(`${path}/messages`, { messages: changed, ...content });
      await call('PUT', path, { ...this.#header(), ...content });
    }
    for (const message of messages) this.#stored.add(message);
    await refreshChats();
  }

  /** The placeholder of a completion without tokens. */
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

  /** Generates the message after the current one. */
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
      // Stored first: the user's message survives any failure.
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
    // Another chat is shown now; this one was stored before the completion started.
    if (this.#find(message.id) === undefined) return;
    batch(() => {
      this.live.value = null;
      if (completion) this.#replace(completed(message, completion, this.model.value));
      else if (!message.content) this.#remove(message);
    });
    const chat = this.#chat;
    await this.store().catch((error: unknown) => {
      // The chat may have been deleted meanwhile.
      if (chat === this.#chat) this.error.value ??= new ApiError(`Could not save the chat: ${wordsOf(error)}`, null, 0);
    });
  }

  #replace(message: ChatMessage): void {
    this.messages.value = this.messages.value.map((other) => (other.id === message.id ? message : other));
  }

  /** Drops an empty completion. */
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

/** Throttles updates to one per frame. */
class EachFrame<Value> {
  last: Value | undefined;
  #waiting = false;
  #ended = false;

  constructor(readonly show: (value: Value) => void) {}

  set(value: Value): void {
    this.last = value;
    if (this.#waiting) return;
    this.#waiting = true;
    // Hidden pages get no animation frames.
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
