/** The images of a conversation, found among the parts of its messages. */

/** An image that is to be loaded. */
export interface ImageSource {
  /** A file's bytes, a data URI, or an http or https address. */
  from: Uint8Array | string;
  /** What the caller knows it by, for error messages: `messages[0].content[1].image_url.url`. */
  param: string;
}

interface MessageWithParts<Part> {
  content?: string | readonly Part[] | null | undefined;
}

/** All of them in order. `toSource` is given each part with its path and returns null for what is no image to load. */
export function imageSources<Part>(
  messages: readonly MessageWithParts<Part>[],
  toSource: (part: Part, path: string) => ImageSource | null,
): ImageSource[] {
  return messages.flatMap(({ content }, message) => {
    if (typeof content !== 'object' || content === null) return [];
    return content.flatMap((part, index) => toSource(part, `messages[${message}].content[${index}]`) ?? []);
  });
}
