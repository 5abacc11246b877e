/** Chats: trees of messages with one shown branch. */
import {
  anything,
  arrayOf,
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
    /** Statistics such as tokens per second. */
    stats: limited(recordOf(anything), { maxProperties: 50 }),
    model: nullableText(4096),
    createdAt: number,
  },
);

const changeable = {
  title: limited(string, { maxLength: 500 }),
  model: nullableText(4096),
  systemPrompt: limited(string, { maxLength: MIB }),
  settings: limited(recordOf(anything), { maxProperties: 100 }),
  messages: limited(arrayOf(chatMessage), { maxItems: 10_000 }),
  /** Last message of the shown branch. */
  current: orNull(id),
};

const times = { createdAt: number, updatedAt: number };

export const chat = objectOf({ id, ...changeable, ...times });
/** For `PUT`; absent fields stay unchanged. */
export const chatChange = closedObjectOf({}, changeable);
export const chatMessages = closedObjectOf({ messages: changeable.messages }, { current: changeable.current });

export const listedChat = objectOf({
  id,
  title: changeable.title,
  model: changeable.model,
  ...times,
  messageCount: integer,
  /** Search result: an excerpt with matches between U+0002 and U+0003. */
  snippet: nullableText(1000),
});

export const chatList = objectOf({ chats: arrayOf(listedChat) });

export type ChatMessage = Static<typeof chatMessage>;
export type Chat = Static<typeof chat>;
export type ChatChange = Static<typeof chatChange>;
export type ChatMessages = Static<typeof chatMessages>;
export type ListedChat = Static<typeof listedChat>;
