/** Conversations: items that are kept in their order, and that responses go on from and add to. */
import {
  arrayOf,
  exactly,
  field,
  integer,
  limited,
  objectOf,
  recordOf,
  type Static,
  string,
  typed,
} from '../../../http/schema/json-schema.js';
import { inputItem, type StoredItem } from './input-schema.js';
import { metadata } from './schema.js';

export const conversationSchema = objectOf({
  id: string,
  object: exactly('conversation'),
  /** Unix seconds. */
  created_at: integer,
  metadata: recordOf(string),
});

export const deletedConversationSchema = objectOf({
  id: string,
  object: exactly('conversation.deleted'),
  deleted: exactly(true),
});

/** An item as it was sent or computed, with an id. */
export const conversationItemSchema = typed<StoredItem>({ type: 'object', required: ['type', 'id'] });

/** The body of `POST /v1/conversations`. */
export const newConversationSchema = objectOf(
  {},
  { items: field('The items that it begins with.', arrayOf(inputItem)), metadata },
);

/** The body of `POST /v1/conversations/{id}`. */
export const changedConversationSchema = objectOf({}, { metadata });

/** The body of `POST /v1/conversations/{id}/items`. */
export const newItemsSchema = objectOf({
  items: field('The items that are added, in their order.', limited(arrayOf(inputItem), { minItems: 1 })),
});

export type Conversation = Static<typeof conversationSchema>;
export type DeletedConversation = Static<typeof deletedConversationSchema>;
export type NewConversation = Static<typeof newConversationSchema>;
export type ChangedConversation = Static<typeof changedConversationSchema>;
export type NewItems = Static<typeof newItemsSchema>;
