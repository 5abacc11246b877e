/** Finds the images and the audio in the messages of a conversation. */

export interface ImageSource {
  /** Default: image. */
  kind?: 'audio';
  /** A file's bytes, a function that reads them, a data URI, or an http or https URL. */
  from: Uint8Array | (() => Uint8Array) | string;
  /** The request field, for errors: `messages[0].content[1].image_url.url`. */
  param: string;
}

interface MessageWithParts<Part> {
  content?: string | readonly Part[] | null | undefined;
}

/** `toSource` gets each part and its path, and returns null for parts of text. */
export function imageSources<Part>(
  messages: readonly MessageWithParts<Part>[],
  toSource: (part: Part, path: string) => ImageSource | null,
): ImageSource[] {
  return messages.flatMap(({ content }, message) => {
    if (typeof content !== 'object' || content === null) return [];
    return content.flatMap((part, index) => toSource(part, `messages[${message}].content[${index}]`) ?? []);
  });
}

/** `data`: base64, a data URI or a URL. */
export function audioSource(data: string, path: string): ImageSource {
  const from = /^(data|https?):/i.test(data) ? data : `data:;base64,${data}`;
  return { kind: 'audio', from, param: `${path}.input_audio.data` };
}
