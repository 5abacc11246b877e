/** The text of a file of any type. The first bytes determine the type; declared types are ignored. */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type DocumentText, type DocumentType, documentToText } from './document-worker.js';

/** Total length of the cached texts. Agents send a file again with each turn. */
const MAX_CACHED = 2 ** 24;

const cache = new Map<string, DocumentText>();

/** Null if the file is neither text nor a readable PDF or Word file. Rejects with the signal's reason. */
export async function fileText(
  bytes: Uint8Array,
  maxCharacters: number,
  signal?: AbortSignal,
): Promise<DocumentText | null> {
  const type = documentType(bytes);
  if (type !== null) return cachedText(type, bytes, maxCharacters, signal);
  const text = plainText(bytes);
  return text === null ? null : { text: text.slice(0, maxCharacters), isWhole: text.length <= maxCharacters };
}

async function cachedText(
  type: DocumentType,
  bytes: Uint8Array,
  maxCharacters: number,
  signal?: AbortSignal,
): Promise<DocumentText | null> {
  const key = `${createHash('sha256').update(bytes).digest('hex')} ${maxCharacters}`;
  const found = cache.get(key) ?? (await documentToText(type, bytes, maxCharacters, signal));
  cache.delete(key);
  if (found === null) return null;
  cache.set(key, found);
  let length = [...cache.values()].reduce((sum, { text }) => sum + text.length, 0);
  for (const [oldest, { text }] of cache) {
    if (length <= MAX_CACHED) break;
    cache.delete(oldest);
    length -= text.length;
  }
  return found;
}

/** The header may follow other bytes. */
const PDF_HEADER = '%PDF-';
const MAX_HEADER_OFFSET = 1024;
const ZIP_HEADER = 'PK\x03\x04';

/** Word files are ZIP files. Other ZIP files have no text. */
function documentType(bytes: Uint8Array): DocumentType | null {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, MAX_HEADER_OFFSET));
  if (start.toString('latin1', 0, ZIP_HEADER.length) === ZIP_HEADER) return 'docx';
  return start.includes(PDF_HEADER) ? 'pdf' : null;
}

const UTF_16: Readonly<Record<string, string>> = { fffe: 'utf-16le', feff: 'utf-16be' };

function plainText(bytes: Uint8Array): string | null {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 2)).toString('hex');
  const encoding = UTF_16[start] ?? (isUtf8(bytes) ? 'utf-8' : null);
  const text = encoding === null ? null : new TextDecoder(encoding).decode(bytes);
  return text?.includes('\0') ? null : text;
}
