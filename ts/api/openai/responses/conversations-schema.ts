/** Conversations: stored lists of items that responses continue and extend. */
import * as s from '../../../http/schema/json-schema.js';
import { metadata } from '../../shared/metadata-schema.js';
import { inputItem, type StoredItem } from './input-schema.js';

export const conversationSchema = s.objectOf({
  id: s.string,
  object: s.exactly('conversation'),
  /** Unix seconds. */
  created_at: s.integer,
  metadata: s.recordOf(s.string),
});

export const deletedConversationSchema = s.objectOf({
  id: s.string,
  object: s.exactly('conversation.deleted'),
  deleted: s.exactly(true),
});

/** An item of a request or a completion, with an id. */
export const conversationItemSchema = s.typed<StoredItem>({ type: 'object', required: ['type', 'id'] });

/** The body of `POST /v1/conversations`. */
export const newConversationSchema = s.objectOf(
  {},
  { items: s.field('The items that it begins with.', s.arrayOf(inputItem)), metadata },
);

/** The body of `POST /v1/conversations/{id}`. */
export const changedConversationSchema = s.objectOf({}, { metadata });

/** The body of `POST /v1/conversations/{id}/items`. */
export const newItemsSchema = s.objectOf({
  items: s.field('The items that are added, in their order.', s.limited(s.arrayOf(inputItem), { minItems: 1 })),
});

export type Conversation = s.Static<typeof conversationSchema>;
export type DeletedConversation = s.Static<typeof deletedConversationSchema>;
export type NewConversation = s.Static<typeof newConversationSchema>;
export type ChangedConversation = s.Static<typeof changedConversationSchema>;
export type NewItems = s.Static<typeof newItemsSchema>;
