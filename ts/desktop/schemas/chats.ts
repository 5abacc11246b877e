/** Chats: trees of messages, of which one branch is shown. */
import { type Static, Type } from 'typebox';

const MIB = 2 ** 20;
const id = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' });
const nullableText = (maxLength: number) => Type.Union([Type.String({ maxLength }), Type.Null()]);

export const chatMessage = Type.Object(
  {
    id,
    /** The message before it; `null` for the first. */
    parent: Type.Union([id, Type.Null()]),
    role: Type.Enum(['system', 'user', 'assistant']),
    content: Type.String({ maxLength: MIB }),
    reasoning: Type.Optional(Type.String({ maxLength: MIB })),
    /** Data URIs. */
    images: Type.Optional(Type.Array(Type.String({ maxLength: 28 * MIB, pattern: '^data:image/' }), { maxItems: 16 })),
    /** What the app shows beside it: tokens per second and the like. */
    stats: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { maxProperties: 50 })),
    model: Type.Optional(nullableText(4096)),
    createdAt: Type.Optional(Type.Number()),
  },
  { additionalProperties: false },
);

const changeable = {
  title: Type.String({ maxLength: 500 }),
  model: nullableText(4096),
  systemPrompt: Type.String({ maxLength: MIB }),
  settings: Type.Record(Type.String(), Type.Unknown(), { maxProperties: 100 }),
  messages: Type.Array(chatMessage, { maxItems: 10_000 }),
  /** The last message of the branch that is shown. */
  current: Type.Union([id, Type.Null()]),
};

/** Milliseconds since 1970. */
const times = { createdAt: Type.Number(), updatedAt: Type.Number() };

export const chat = Type.Object({ id, ...changeable, ...times });
/** For `PUT`, parts that are absent stay as they are. */
export const chatChange = Type.Partial(Type.Object(changeable), { additionalProperties: false });
export const chatMessages = Type.Object(
  { messages: changeable.messages, current: Type.Optional(changeable.current) },
  { additionalProperties: false },
);

export const listedChat = Type.Object({
  id,
  title: changeable.title,
  model: changeable.model,
  ...times,
  messageCount: Type.Integer(),
  /** Where a text was searched for: the part of a message that has it, in parts between U+0002 and U+0003. */
  snippet: nullableText(1000),
});

export const chatList = Type.Object({ chats: Type.Array(listedChat) });

export type ChatMessage = Static<typeof chatMessage>;
export type Chat = Static<typeof chat>;
export type ChatChange = Static<typeof chatChange>;
export type ChatMessages = Static<typeof chatMessages>;
export type ListedChat = Static<typeof listedChat>;
