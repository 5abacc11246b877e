/** Reads files: images as data URIs, others as text, exports as chats. */

import type { ChatFile, DocumentBody } from '../../api-types.js';
import { post } from './api.js';
import type { Attachments } from './drafts.js';
import { bytes } from './format.js';
import { t } from './language.js';

/** Images of a message, and files. */
export const maxAttached = 16;
const maxBytes = 20e6;
const types = /^image\/(png|jpeg|webp|gif|bmp)$/;

export async function readFiles(all: readonly File[]): Promise<Attachments> {
  const [images, others] = [true, false].map((isImage) => all.filter(({ type }) => types.test(type) === isImage));
  return {
    images: await Promise.all((images as File[]).slice(0, maxAttached).map(readImage)),
    audio: [],
    files: await Promise.all((others as File[]).slice(0, maxAttached).map(readText)),
  };
}

async function readText(file: File): Promise<ChatFile> {
  return await post<ChatFile>('/documents', await bodyOf(file));
}

/** Imports the chats of exports. Returns their number. */
export async function importChats(files: readonly File[]): Promise<number> {
  let count = 0;
  for (const file of files) count += (await post<{ imported: number }>('/chats/import', await bodyOf(file))).imported;
  return count;
}

export function download(href: string, name: string): void {
  Object.assign(document.createElement('a'), { href, download: name }).click();
}

async function bodyOf(file: File): Promise<DocumentBody> {
  checkSize(file);
  return { input: { filename: file.name.slice(0, 255), file_data: await readUri(file) } };
}

function checkSize(file: File): void {
  if (file.size <= maxBytes) return;
  throw new Error(t('fileTooLarge', { file: file.name, size: bytes(file.size), limit: bytes(maxBytes) }));
}

async function readImage(file: File): Promise<string> {
  checkSize(file);
  const url = await readUri(file);
  const image = new Image();
  image.src = url;
  await image.decode().catch(() => {
    throw new Error(t('incompleteImage', { file: file.name }));
  });
  return url;
}

function readUri(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error(t('unreadableFile', { file: file.name })));
    reader.readAsDataURL(file);
  });
}
