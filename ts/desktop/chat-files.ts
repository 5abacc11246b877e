/** Files of messages: their text is read once, stored with the message, and shown to the model before it. */
import { inTags } from '../api/shared/chat/read-files.js';
import { fileText } from '../documents/file-text.js';
import { invalidValue } from '../errors.js';
import type { ChatFile, ChatMessage, DocumentBody } from './api-types.js';

const MAX_CHARACTERS = 2 ** 20;

/** @throws {ChasquiError} `invalid_value` if the file has no text or is too long */
export async function readFile({ input: { filename: name, file_data: data } }: DocumentBody): Promise<ChatFile> {
  const bytes = Buffer.from(data.slice(data.indexOf(',') + 1), 'base64');
  const found = await fileText(bytes, MAX_CHARACTERS);
  const reason =
    found === null
      ? 'cannot be attached: it is neither an image, nor text, nor a readable PDF or Word file.'
      : !found.isWhole
        ? `cannot be attached: it has more than ${MAX_CHARACTERS.toLocaleString('en')} characters of text.`
        : found.text.trim() === ''
          ? 'cannot be attached: it has no text. It may consist of images.'
          : null;
  if (found === null || reason !== null) throw invalidValue(`${name} ${reason}`, 'input.file_data');
  return { name, sizeBytes: bytes.length, text: found.text };
}

/** The text of a message for the model, after the texts of its files. */
export function textOf({ content, files = [] }: Pick<ChatMessage, 'content' | 'files'>): string {
  const documents = files.map(({ name, text }) => inTags('document', { title: name }, text));
  return [...documents, content].filter(Boolean).join('\n\n');
}
