/** Metadata of stored objects. OpenAI has the same limits. */
import { field, limited, recordOf, string } from '../../http/schema/json-schema.js';

export const metadata = field('Comes back with it.', recordOf(limited(string, { maxLength: 512 })), {
  maxProperties: 16,
});
