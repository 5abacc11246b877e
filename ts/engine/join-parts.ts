/** A message's parts → one text, as llama.cpp's own server joins them. */
import type { ChatMessage } from './engine-types.js';
import type { ImageInput } from './job.js';

/**
 * Parts are separate paragraphs, so a line break keeps texts apart; an image is a paragraph of its own already.
 * `marker` stands for each image, and the images are added to `images` in order.
 */
export function joinParts(content: ChatMessage['content'], marker: string, images: ImageInput[]): string {
  if (typeof content === 'string') return content;
  let text = '';
  let afterImage = false;
  for (const part of content) {
    if (part.type === 'image') {
      images.push(part.image);
      text += marker;
    } else {
      text += afterImage || text === '' ? part.text : `\n${part.text}`;
    }
    afterImage = part.type === 'image';
  }
  return text;
}
