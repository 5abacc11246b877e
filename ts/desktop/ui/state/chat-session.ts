/** One shown chat: its message tree, the completion that the app computes for it, and its actions. */
import { batch, computed, type ReadonlySignal, signal } from '@preact/signals';
import type { AppEvents, Chat, ChatMessage, CompletionEnd, CompletionError, CompletionEvent } from '../../api-types.js';
import { ApiError, call, get, isAbort, post } from './api.js';
import { alternativesOf, branchTo, lastUnder, titleOf } from './chat-tree.js';
import { type Attachments, type Draft, keepDraft, noDraft, readDraft } from './drafts.js';
import { EachFrame } from './each-frame.js';
import { followCompletion } from './follow-completion.js';
import { t } from './language.js';
import { type Header, headerOf, StoredChat } from './stored-chat.js';

const refollowMs = 1000;

export class ChatSession {
  readonly id = signal<string | null>(null);
  readonly title = signal('');
  readonly model = signal('');
  readonly systemPrompt = signal('');
  readonly settings = signal<Readonly<Record<string, unknown>>>({});
  readonly messages = signal<readonly ChatMessage[]>([]);
  /** The last stored message of the shown branch. */
  readonly current = signal<string | null>(null);
  /** The message that is being completed, as it was at the beginning. */
  readonly live = signal<ChatMessage | null>(null);
  /** The same message as it is now. Changes with each frame. */
  readonly growing = signal<ChatMessage | null>(null);
  /** With the token counts of a chat that is longer than the context. */
  readonly error = signal<(ApiError & Pick<CompletionError, 'n_ctx' | 'n_prompt_tokens'>) | null>(null);
  readonly draft = signal<Draft>(noDraft);
  readonly branch: ReadonlySignal<ChatMessage[]> = computed(() => {
    const branch = branchTo(this.messages.value, this.current.value);
    const live = this.live.value;
    return live && branch.at(-1)?.id === live.parent ? [...branch, live] : branch;
  });
  readonly busy: ReadonlySignal<boolean> = computed(() => this.live.value !== null);
  #chat = new StoredChat(null);
  #following: AbortController | undefined;
  readonly #frame = new EachFrame<ChatMessage>((message) => {
    if (this.live.peek()?.id === message.id) this.growing.value = message;
  });
  /** Counts opened chats, to detect stale replies. */
  #opened = 0;
  /** Messages that the app has in this exact version. */
  readonly #stored = new WeakSet<ChatMessage>();

  /** Opens a stored chat, or an empty one that is stored with its first message. */
  async open(id: string | null): Promise<void> {
    this.#opened += 1;
    if (id === this.id.value && id !== null) return;
    const opened = this.#opened;
    const chat = id === null ? null : await get<Chat>(pathOf(id));
    // Another chat was opened meanwhile.
    if (opened === this.#opened) this.#show(chat);
  }

  #show(chat: Chat | null): void {
    this.#following?.abort();
    this.#chat = new StoredChat(chat);
    batch(() => {
      this.id.value = chat?.id ?? null;
      this.title.value = chat?.title ?? '';
      this.messages.value = chat?.messages ?? [];
      this.current.value = chat?.current ?? null;
      this.#release();
      this.error.value = null;
      this.draft.value = readDraft(this.id.value);
      if (!chat) return;
      this.model.value = chat.model ?? this.model.value;
      this.systemPrompt.value = chat.systemPrompt;
      this.settings.value = chat.settings;
      const running = this.#find(chat.running ?? '');
      if (running) this.#begin(running);
    });
    for (const message of chat?.messages ?? []) this.#stored.add(message);
    if (chat) void this.#follow();
  }

  /** Reads the chat again. Changes that are not stored yet are kept. */
  async refresh(): Promise<void> {
    const chat = this.#chat;
    if (chat.id === null || chat.isWriting) return;
    const read = await get<Chat>(pathOf(chat.id));
    if (chat !== this.#chat || chat.isWriting) return;
    // The reply may be older than writes and reads that ended meanwhile.
    if (chat.isOutdated(read.updatedAt)) return this.refresh();
    this.#merge(read);
  }

  #merge(read: Chat): void {
    const chat = this.#chat;
    const unsent = this.messages.value.filter((message) => !this.#stored.has(message));
    const changed = chat.changesOf(this.#header());
    for (const message of read.messages) this.#stored.add(message);
    chat.take(read);
    batch(() => {
      this.messages.value = [...read.messages, ...unsent];
      const header = { ...headerOf(read), ...changed };
      this.title.value = header.title;
      this.model.value = header.model ?? this.model.value;
      this.systemPrompt.value = header.systemPrompt;
      this.settings.value = header.settings;
      this.current.value = header.current;
      if (!read.running) this.#release();
    });
    if (read.running) void this.#follow();
  }

  changed({ id, updatedAt, running }: AppEvents['chat']): void {
    const chat = this.#chat;
    if (id !== chat.id) return;
    if (updatedAt === null) {
      this.#show(null);
      return;
    }
    const isNews = () => chat.isNews(updatedAt) || running !== (this.live.value?.id ?? null);
    // The reply to a write may arrive after its event.
    void chat.written.then(() => (chat === this.#chat && isNews() ? this.refresh() : undefined)).catch(() => undefined);
  }

  setDraft(draft: Draft): void {
    this.draft.value = draft;
    keepDraft(this.#chat.id, draft);
  }

  /** Resolves when the app has the message. If it cannot be stored, it becomes the draft again. */
  async send({ text, ...attached }: Draft): Promise<void> {
    if (this.busy.value) return;
    const chat = this.#chat;
    const message = newMessage('user', this.current.value, text, attached);
    this.#append(message);
    try {
      await this.#complete(newMessage('assistant', message.id, ''));
    } catch (error) {
      if (!this.#stored.has(message)) this.#takeBack(chat, message);
      throw error;
    }
  }

  #takeBack(chat: StoredChat, message: ChatMessage): void {
    const draft = draftOf(message);
    if (chat !== this.#chat) {
      keepDraft(chat.id, draft);
      return;
    }
    batch(() => {
      this.messages.value = this.messages.value.filter(({ id }) => id !== message.id);
      this.current.value = message.parent;
      if (this.draft.value.text === '') this.setDraft(draft);
    });
  }

  /** Regenerates the last completion as a branch. */
  async regenerate(id: string): Promise<void> {
    const message = this.#find(id);
    if (!message || this.busy.value) return;
    this.current.value = message.role === 'user' ? message.id : message.parent;
    await this.#complete(newMessage('assistant', this.current.value, ''));
  }

  /** Edits a message as a branch; an edited user message is sent. */
  async edit(id: string, { text, ...attached }: Draft): Promise<void> {
    const message = this.#find(id);
    if (!message || this.busy.value) return;
    const edited = newMessage(message.role, message.parent, text, attached);
    this.#append(edited);
    if (message.role === 'user') await this.#complete(newMessage('assistant', edited.id, ''));
    else await this.store();
  }

  async continue(id: string): Promise<void> {
    const message = this.#find(id);
    if (message && !this.busy.value) await this.#complete(message);
  }

  /** Stores a message with results of its tool calls. After the last one, the app continues. */
  async takeResults(message: ChatMessage, isLast: boolean): Promise<void> {
    this.messages.value = this.messages.value.map((other) => (other.id === message.id ? message : other));
    await (isLast ? this.#complete(newMessage('assistant', message.id, '')) : this.store());
  }

  /** Retries after an error. */
  async retry(): Promise<void> {
    const last = this.branch.value.at(-1);
    if (!last || this.busy.value) return;
    await this.#complete(last.role === 'user' ? newMessage('assistant', last.id, '') : last);
  }

  async stop(): Promise<void> {
    const chat = this.#chat;
    if (!this.busy.value) return;
    // A new chat has no id, and a new completion does not exist, until they are written.
    await chat.written;
    if (chat.id !== null) await call('DELETE', `${pathOf(chat.id)}/completion`);
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

  /** Deletes one message; replies to it become replies to the one before. */
  async delete(id: string): Promise<void> {
    const chat = this.#chat;
    const message = this.#find(id);
    if (!message || this.busy.value) return;
    if (this.current.value === id) {
      const left = this.messages.value.filter((other) => other !== message);
      this.current.value = lastUnder(left, message.parent);
    }
    await this.store();
    const path = `${pathOf(chat.id as string)}/messages/${encodeURIComponent(id)}`;
    const read = await chat.write(() => call<Chat>('DELETE', path));
    if (chat === this.#chat) this.#merge(read);
  }

  /** Creates a chat with the messages up to this one; returns its id. */
  async branchOff(id: string): Promise<string> {
    const messages = branchTo(this.messages.value, id);
    const chat = await post<Chat>('/chats', { ...this.#header(), messages, current: id });
    return chat.id;
  }

  /** Sends what changed: messages, because images may be large, and header fields, because other pages change them too. */
  async store(): Promise<void> {
    const chat = this.#chat;
    const messages = this.messages.value;
    const header = this.#header();
    if (messages.length > 0) await chat.write(() => this.#storeIn(chat, messages, header));
  }

  async #storeIn(chat: StoredChat, messages: readonly ChatMessage[], header: Header): Promise<void> {
    if (chat.id === null) {
      chat.take(await post<Chat>('/chats', { ...header, messages }));
      // Navigate only if this chat is still shown.
      if (chat === this.#chat) this.#named(chat.id);
    } else {
      const added = messages.filter((message) => !this.#stored.has(message));
      const { current } = header;
      // First, because the app rejects a `current` that it does not have.
      if (added.length > 0) {
        const body = { messages: added, current };
        chat.wrote(await post<{ updatedAt: number }>(`${pathOf(chat.id)}/messages`, body), { current });
      }
      const changed = chat.changesOf(header);
      if (Object.keys(changed).length > 0) chat.wrote(await call<Chat>('PUT', pathOf(chat.id), changed), changed);
    }
    for (const message of messages) this.#stored.add(message);
  }

  #named(id: string | null): void {
    keepDraft(null, noDraft);
    keepDraft(id, this.draft.value);
    this.id.value = id;
  }

  #header(): Header {
    return {
      title: this.title.value,
      model: this.model.value || null,
      systemPrompt: this.systemPrompt.value,
      settings: { ...this.settings.value },
      current: this.current.value,
    };
  }

  #find(id: string): ChatMessage | undefined {
    return this.messages.value.find((message) => message.id === id);
  }

  #append(message: ChatMessage): void {
    batch(() => {
      if (this.messages.value.length === 0) this.title.value = titleOf(message) || t('image');
      this.messages.value = [...this.messages.value, message];
      this.current.value = message.id;
    });
  }

  /** Has the app complete a message. It does so even if another chat is opened meanwhile. */
  async #complete(message: ChatMessage): Promise<void> {
    const chat = this.#chat;
    batch(() => {
      this.error.value = null;
      this.#begin(message);
    });
    const messages = this.messages.value;
    const header = this.#header();
    try {
      // One write, because `stop` waits for it.
      await chat.write(async () => {
        await this.#storeIn(chat, messages, header);
        await post(`${pathOf(chat.id as string)}/completion`, { id: message.id, parent: message.parent });
      });
    } catch (error) {
      if (chat === this.#chat) this.#release();
      throw error;
    }
    if (chat === this.#chat) void this.#follow();
  }

  #begin(message: ChatMessage): void {
    this.live.value = message;
    this.growing.value = message;
    this.#frame.last = message;
  }

  #release(): void {
    this.live.value = null;
    this.growing.value = null;
  }

  async #follow(): Promise<void> {
    const chat = this.#chat;
    this.#following?.abort();
    const following = new AbortController();
    this.#following = following;
    const { signal } = following;
    try {
      await followCompletion(chat.id as string, signal, (event) => {
        if (!signal.aborted) this.#take(event);
      });
      // It ended before this page asked.
      if (!signal.aborted && this.busy.value) await this.refresh();
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) setTimeout(() => void this.#followAgain(signal), refollowMs);
    }
  }

  /** If the app is not running, the page refreshes its chats when it is back. */
  async #followAgain(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await this.refresh().catch(() => undefined);
  }

  #take(event: CompletionEvent): void {
    const { last } = this.#frame;
    if (event.name === 'end') this.#finish(event.data);
    else if (event.name === 'message') {
      batch(() => {
        this.#begin(event.data);
        if (!this.branch.value.some(({ id }) => id === event.data.id)) {
          this.current.value = this.#find(event.data.id) ? event.data.id : event.data.parent;
        }
      });
    } else if (last) {
      const { content, reasoning, stats } = event.data;
      const thought = (last.reasoning ?? '') + reasoning;
      const message = { ...last, content: last.content + content, stats: { ...stats } };
      this.#frame.set(thought ? { ...message, reasoning: thought } : message);
    }
  }

  #finish({ message, error, updatedAt }: CompletionEnd): void {
    batch(() => {
      this.#release();
      this.error.value = error && Object.assign(new ApiError(error.message, error.code, 0), error);
      if (!message) return;
      this.#stored.add(message);
      const isKnown = this.#find(message.id) !== undefined;
      this.messages.value = isKnown
        ? this.messages.value.map((other) => (other.id === message.id ? message : other))
        : [...this.messages.value, message];
      if (this.current.value === message.parent) this.current.value = message.id;
    });
    if (updatedAt !== null) this.#chat.wrote({ updatedAt }, message ? { current: message.id } : {});
  }
}

export function draftOf({ content, images = [], audio = [], files = [] }: ChatMessage): Draft {
  return { text: content, images, audio, files };
}

const pathOf = (id: string) => `/chats/${encodeURIComponent(id)}`;

function newMessage(
  role: ChatMessage['role'],
  parent: string | null,
  content: string,
  { images, audio, files }: Attachments = noDraft,
): ChatMessage {
  return {
    id: crypto.randomUUID(),
    parent,
    role,
    content,
    ...(images.length > 0 && { images: [...images] }),
    ...(audio.length > 0 && { audio: [...audio] }),
    ...(files.length > 0 && { files: [...files] }),
    createdAt: Date.now(),
  };
}
