import * as s from '../../http/schema/json-schema.js';

/** The operation has begun; the list of models shows its progress. */
export const modelActionReplySchema = s.objectOf({ success: s.exactly(true) });

export type ModelActionReply = s.Static<typeof modelActionReplySchema>;
