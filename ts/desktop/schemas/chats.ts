/** Chats: trees of messages with one shown branch. */
import {
  anything,
  arrayOf,
  boolean,
  closedObjectOf,
  integer,
  limited,
  number,
  objectOf,
  oneOf,
  orNull,
  recordOf,
  type Static,
  string,
} from '../../http/schema/json-schema.js';

const MIB = 2 ** 20;
const id = limited(string, { minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' });
const nullableText = (maxLength: number) => orNull(limited(string, { maxLength }));

const fileName = limited(string, { minLength: 1, maxLength: 255 });

/** An attached file. Its text precedes that of the message in prompts. */
export const chatFile = closedObjectOf({
  name: fileName,
  sizeBytes: limited(integer, { minimum: 0 }),
  text: limited(string, { maxLength: MIB }),
});

/** The names are those of files in completions: readers of bodies do not count their data as text. */
export const documentBody = closedObjectOf({
  input: closedObjectOf({
    filename: fileName,
    /** A data URI of a text, PDF or Word file. */
    file_data: limited(string, { maxLength: 28 * MIB, pattern: '^data:[^,]*;base64,' }),
  }),
});

/** A call by the model, with its result as soon as a page has run it. */
const toolCall = closedObjectOf(
  {
    id: limited(string, { maxLength: 200 }),
    name: limited(string, { maxLength: 200 }),
    /** JSON, as the model wrote it. */
    arguments: limited(string, { maxLength: MIB }),
  },
  {
    result: limited(string, { maxLength: MIB }),
    state: oneOf('done', 'failed', 'declined'),
  },
);

const offset = limited(integer, { minimum: 0 });

/** The passages of files that a completion was given, because the files did not fit into the context. */
const usedPassages = closedObjectOf({
  /** `start`: the beginnings of the files. */
  ranking: oneOf('meaning', 'words', 'start'),
  /** The embedding model. */
  model: nullableText(4096),
  used: limited(
    arrayOf(
      closedObjectOf({
        message: id,
        /** Index in the files of the message. */
        file: offset,
        start: offset,
        end: offset,
        firstLine: offset,
        lastLine: offset,
      }),
    ),
    { maxItems: 10_000 },
  ),
});

export const chatMessage = closedObjectOf(
  {
    id,
    /** The previous message; `null` for the first. */
    parent: orNull(id),
    role: oneOf('system', 'user', 'assistant'),
    content: limited(string, { maxLength: MIB }),
  },
  {
    reasoning: limited(string, { maxLength: MIB }),
    /** Data URIs. */
    images: limited(arrayOf(limited(string, { maxLength: 28 * MIB, pattern: '^data:image/' })), { maxItems: 16 }),
    /** Recordings, as data URIs. */
    audio: limited(arrayOf(limited(string, { maxLength: 28 * MIB, pattern: '^data:audio/' })), { maxItems: 16 }),
    files: limited(arrayOf(chatFile), { maxItems: 16 }),
    toolCalls: limited(arrayOf(toolCall), { maxItems: 16 }),
    passages: usedPassages,
    /** Statistics such as tokens per second. */
    stats: limited(recordOf(anything), { maxProperties: 50 }),
    model: nullableText(4096),
    createdAt: number,
  },
);

export const chatSettings = limited(recordOf(anything), { maxProperties: 100 });

const changeable = {
  title: limited(string, { maxLength: 500 }),
  model: nullableText(4096),
  systemPrompt: limited(string, { maxLength: MIB }),
  settings: chatSettings,
  messages: limited(arrayOf(chatMessage), { maxItems: 10_000 }),
  /** Last message of the shown branch. */
  current: orNull(id),
};

const times = { createdAt: number, updatedAt: number };

/** The message that is being completed. */
const running = orNull(id);

/** Pinned chats are listed first. */
const pinned = boolean;

/** Part of paths, and of exported chats. */
const folderName = limited(string, { minLength: 1, maxLength: 80, pattern: '^(?=.*\\S)[^\\x00-\\x1f]+$' });
/** `null`: in no folder. */
const folder = orNull(folderName);

export const chat = objectOf({ id, ...changeable, ...times }, { running, pinned, folder });
/** For `PUT`; absent fields stay unchanged. */
export const chatChange = closedObjectOf({}, { ...changeable, pinned, folder });
export const chatMessages = closedObjectOf({ messages: changeable.messages }, { current: changeable.current });
/** The version of a chat: it grows with each change. */
export const chatVersion = objectOf({ updatedAt: number });

export const completionBody = closedObjectOf({
  /** The message to continue, or the id of a new one. */
  id,
  /** The message before it. */
  parent: orNull(id),
});

export const listedChat = objectOf(
  {
    id,
    title: changeable.title,
    model: changeable.model,
    ...times,
    messageCount: integer,
    pinned,
    folder,
    /** Search result: the message of `snippet`. */
    hit: orNull(id),
    /** Search result: an excerpt with matches between U+0002 and U+0003. */
    snippet: nullableText(1000),
  },
  { running },
);

export const importReply = objectOf({ imported: integer });

/** `open`: whether the history shows its chats. */
export const chatFolder = objectOf({ name: folderName, open: boolean });
export const folderParams = objectOf({ name: folderName });
export const newFolder = closedObjectOf({ name: folderName });
export const folderChange = closedObjectOf({}, { name: folderName, open: boolean });
export const folderList = objectOf({ folders: arrayOf(chatFolder) });

export const chatList = objectOf({ chats: arrayOf(listedChat), ...folderList.properties });

export type ChatFile = Static<typeof chatFile>;
export type DocumentBody = Static<typeof documentBody>;
export type UsedPassages = Static<typeof usedPassages>;
export type ChatMessage = Static<typeof chatMessage>;
export type Chat = Static<typeof chat>;
export type ChatChange = Static<typeof chatChange>;
export type ChatMessages = Static<typeof chatMessages>;
export type CompletionBody = Static<typeof completionBody>;
export type ListedChat = Static<typeof listedChat>;
export type ChatList = Static<typeof chatList>;
export type ChatFolder = Static<typeof chatFolder>;
export type FolderChange = Static<typeof folderChange>;

/** The `stats` of a completion. */
export interface ChatStats {
  finishReason: string | null;
  promptTokens: number | null;
  completionTokens: number | null;
  cachedTokens: number | null;
  tokensPerSecond: number | null;
  firstTokenMs: number | null;
}

export interface CompletionError {
  message: string;
  code: string | null;
  /** Of `context_length_exceeded`. */
  n_ctx?: number;
  n_prompt_tokens?: number;
}

export interface CompletionEnd {
  /** `null` if there is no text. */
  message: ChatMessage | null;
  error: CompletionError | null;
  /** `null` if the chat was deleted. */
  updatedAt: number | null;
}

/** Events of `GET /api/v1/chats/{id}/completion`: the message so far, what is added to it, and the end. */
export type CompletionEvent =
  | { name: 'message'; data: ChatMessage }
  | { name: 'delta'; data: { content: string; reasoning: string; stats: ChatStats } }
  | { name: 'end'; data: CompletionEnd };
