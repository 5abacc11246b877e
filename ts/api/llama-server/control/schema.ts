/** Control of running chat completions, in the form of llama-server. */
import * as s from '../../../http/schema/json-schema.js';

export const chatControlSchema = s.objectOf(
  {
    id: s.field('The id in the chunks of the stream.', s.limited(s.string, { minLength: 1, maxLength: 128 })),
    action: s.field(
      '`reasoning_end` ends the reasoning: the answer follows. `stop` ends the completion with its next token.',
      s.oneOf('reasoning_end', 'stop'),
    ),
  },
  { model: s.field('Optional: the id is sufficient.', s.string) },
);

export const chatControlReplySchema = s.objectOf({ success: s.boolean }, { message: s.string });

export type ChatControl = s.Static<typeof chatControlSchema>;
export type ChatControlReply = s.Static<typeof chatControlReplySchema>;
