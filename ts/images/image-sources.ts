/** Finds the images in the messages of a conversation. */

export interface ImageSource {
  /** A file's bytes, a data URI, or an http or https URL. */
  from: Uint8Array | string;
  /** The request field, for errors: `messages[0].content[1].image_url.url`. */
  param: string;
}

interface MessageWithParts<Part> {
  content?: string | readonly Part[] | null | undefined;
}

/** `toSource` gets each part and its path, and returns null for parts that are no images. */
export function imageSources<Part>(
  messages: readonly MessageWithParts<Part>[],
  toSource: (part: Part, path: string) => ImageSource | null,
): ImageSource[] {
  return messages.flatMap(({ content }, message) => {
    if (typeof content !== 'object' || content === null) return [];
    return content.flatMap((part, index) => toSource(part, `messages[${message}].content[${index}]`) ?? []);
  });
}
