/** Resumable streams, in the form of llama-server. */
import * as s from '../../../http/schema/json-schema.js';

export const MAX_ID_LENGTH = 512;
const MAX_IDS = 1000;

export const lookupSchema = s.objectOf({
  conversation_ids: s.field(
    'The `X-Conversation-Id` of each stream, with or without the suffix that begins with `::`.',
    s.limited(s.arrayOf(s.limited(s.string, { maxLength: MAX_ID_LENGTH })), { maxItems: MAX_IDS }),
  ),
});

export const lookupReplySchema = s.arrayOf(
  s.objectOf({
    conversation_id: s.string,
    is_done: s.boolean,
    total_bytes: s.integer,
    started_at: s.integer,
    completed_at: s.integer,
  }),
);

/** An event of the completion's endpoint. */
export const streamEventSchema = s.anyObject;

export type LookupRequest = s.Static<typeof lookupSchema>;
