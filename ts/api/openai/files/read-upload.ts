/** Reads the file of an upload from a body of type `multipart/form-data`. */
import { invalidValue } from '../../../errors.js';
import { fileIn, parseForm } from '../../shared/read-form.js';

export interface Upload {
  bytes: Buffer;
  filename: string;
  purpose: string;
}

const MAX_NAME_LENGTH = 255;
const MAX_PURPOSE_LENGTH = 64;

/** Rejects with `bad_request` and errors that name the field. */
export async function readUpload(body: Buffer, contentType: string): Promise<Upload> {
  const form = await parseForm(body, contentType);
  const file = fileIn(form);
  const purpose = form.get('purpose') ?? 'user_data';
  if (typeof purpose !== 'string' || purpose.length > MAX_PURPOSE_LENGTH) {
    throw invalidValue(`\`purpose\` must be a text of at most ${MAX_PURPOSE_LENGTH} characters.`, 'purpose');
  }
  const filename = file.name.slice(0, MAX_NAME_LENGTH).toWellFormed();
  return { bytes: Buffer.from(await file.arrayBuffer()), filename, purpose };
}
