/** Finds the images that a message names by their paths. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { GeneratePart } from '../../engine/load-chat-images.js';

/** A path in quotation marks, or with its spaces escaped. Bounded by PATH_MAX, because long matches overflow the stack. */
const PATHS =
  /"([^"\n]{1,4096}\.(?:png|jpe?g|webp|bmp|gif))"|'([^'\n]{1,4096}\.(?:png|jpe?g|webp|bmp|gif))'|((?:\\.|\S){1,4096})/gi;
const IMAGE = /\.(png|jpe?g|webp|bmp|gif)$/i;
const MAX_BYTES = 64 * 2 ** 20;

/** The text without the paths, and the images. Returns a text without paths unchanged. */
export function withImages(text: string, platform = process.platform): string | readonly GeneratePart[] {
  const images: GeneratePart[] = [];
  const withoutEscapes = (bare: string) => (platform === 'win32' ? bare : bare.replaceAll(/\\(.)/g, '$1'));
  const rest = text.replace(PATHS, (match, double, single, bare = '') => {
    const file = withHome(double ?? single ?? withoutEscapes(bare));
    if (!isImage(file)) return match;
    images.push({ type: 'image', image: fs.readFileSync(file) });
    return '';
  });
  return images.length === 0 ? text : [...images, { type: 'text', text: rest.trim() }];
}

/** False for paths that cannot be looked up, such as long addresses of images. */
function isImage(file: string): boolean {
  try {
    const stat = IMAGE.test(file) ? fs.statSync(file) : undefined;
    return stat?.isFile() === true && stat.size <= MAX_BYTES;
  } catch {
    return false;
  }
}

function withHome(file: string): string {
  return file.startsWith('~/') ? path.join(os.homedir(), file.slice(2)) : file;
}
