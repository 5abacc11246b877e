/** An uploaded file, in the form of OpenAI. */
import { exactly, integer, objectOf, type Static, string } from '../../http/schema/json-schema.js';

export const fileSchema = objectOf({
  id: string,
  object: exactly('file'),
  bytes: integer,
  /** Unix seconds. */
  created_at: integer,
  filename: string,
  /** Set by the upload; without effect. */
  purpose: string,
  status: exactly('processed'),
});

export type FileObject = Static<typeof fileSchema>;
