/** Uploaded files, in the form of OpenAI. */
import { arrayOf, boolean, exactly, objectOf, orNull, type Static, string } from '../../../http/schema/json-schema.js';
import { fileSchema } from '../../shared/file-schema.js';

export const fileListSchema = objectOf({
  object: exactly('list'),
  data: arrayOf(fileSchema),
  first_id: orNull(string),
  last_id: orNull(string),
  has_more: boolean,
});

export const deletedFileSchema = objectOf({ id: string, object: exactly('file'), deleted: exactly(true) });

export const uploadSchema = {
  type: 'object',
  required: ['file'],
  properties: { file: { type: 'string', format: 'binary' }, purpose: { type: 'string' } },
} as const;

export type FileList = Static<typeof fileListSchema>;
export type DeletedFile = Static<typeof deletedFileSchema>;
