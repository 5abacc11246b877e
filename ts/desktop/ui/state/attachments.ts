/** Reads attached files: images as data URIs, others as text. */
import type { ChatFile } from '../../api-types.js';
import { post } from './api.js';
import type { Attachments } from './drafts.js';
import { bytes } from './format.js';

/** Images of a message, and files. */
export const maxAttached = 16;
const maxBytes = 20e6;
const types = /^image\/(png|jpeg|webp|gif|bmp)$/;

export async function readFiles(all: readonly File[]): Promise<Attachments> {
  const [images, others] = [true, false].map((isImage) => all.filter(({ type }) => types.test(type) === isImage));
  return {
    images: await Promise.all((images as File[]).slice(0, maxAttached).map(readImage)),
    files: await Promise.all((others as File[]).slice(0, maxAttached).map(readText)),
  };
}

async function readText(file: File): Promise<ChatFile> {
  checkSize(file);
  const input = { filename: file.name.slice(0, 255), file_data: await readUri(file) };
  return await post<ChatFile>('/documents', { input });
}

function checkSize(file: File): void {
  if (file.size <= maxBytes) return;
  throw new Error(`${file.name} cannot be attached: it has ${bytes(file.size)}, and the limit is ${bytes(maxBytes)}.`);
}

async function readImage(file: File): Promise<string> {
  checkSize(file);
  const url = await readUri(file);
  const image = new Image();
  image.src = url;
  await image.decode().catch(() => {
    throw new Error(`${file.name} is not a complete image.`);
  });
  return url;
}

function readUri(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error(`Could not read ${file.name}.`));
    reader.readAsDataURL(file);
  });
}
