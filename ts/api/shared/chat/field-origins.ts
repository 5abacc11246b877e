/**
 * Maps fields of a chat body to those of the original request in another protocol, so that errors name the fields of the
 * request.
 */
import { ChasquiError, invalidValue } from '../../../errors.js';
import { fieldOfError } from '../../../http/error-handler.js';
import { audioSource, type ImageSource } from '../../../images/image-sources.js';
import type { ChatCompletionRequest } from './chat-schema.js';
import type { ImagePart, Message } from './message-schema.js';

/** An equivalent chat body for a request of another protocol. */
export interface ChatTranslation {
  body: ChatCompletionRequest;
  origins: FieldOrigins;
}

/** Longest path of a field with an origin. Names within schemas may be longer, but they end a path. */
const MAX_FIELD_LENGTH = 500;

interface ChatBody {
  messages: readonly Message[];
}

export class FieldOrigins {
  readonly #origins = new Map<string, string>();

  /** `field` of the chat body (`messages[1].content[0]`) was `origin` in the request (`input[0].content[0]`). */
  set(field: string, origin: string): void {
    this.#origins.set(field, origin);
  }

  /** Runs `work` and translates field names in its errors. */
  async guard<Result>({ messages }: ChatBody, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (thrown) {
      throw this.translate(thrown, { messages });
    }
  }

  /** Returns the error with the name of the field in the request, or unchanged if its field is unknown. */
  translate(failure: unknown, { messages }: ChatBody): unknown {
    const thrown = nameFailedImage(failure, messages);
    if (!(thrown instanceof ChasquiError)) return thrown;
    const param = fieldOfError(thrown);
    const origin = param && this.#originOf(param);
    if (!param || !origin) return thrown;
    const message = thrown.message.replaceAll(`\`${param}\``, `\`${origin}\``);
    return thrown.withMessage(message, origin);
  }

  /** Returns the name in the request for a field of the chat body or a part of one. */
  nameOf(field: string): string {
    return this.#originOf(field) ?? field;
  }

  /** Returns the origin of the nearest enclosing field with one, followed by the rest of the path. */
  #originOf(param: string): string | null {
    for (
      let around = param.slice(0, MAX_FIELD_LENGTH);
      around !== '';
      around = around.replace(/(^|\.)[^.[\]]*$|\[[^[\]]*\]$/, '')
    ) {
      const origin = this.#origins.get(around);
      if (origin !== undefined) return origin + param.slice(around.length);
    }
    return null;
  }
}

/** The engine identifies images by number. The returned error identifies them by their path in the messages. */
function nameFailedImage(thrown: unknown, messages: readonly Message[]): unknown {
  if (!(thrown instanceof ChasquiError) || thrown.imageIndex === undefined) return thrown;
  const param = imagesIn(messages)[thrown.imageIndex]?.param;
  if (param === undefined) return thrown;
  return thrown.withMessage(`\`${param}\`: ${thrown.message}`, param);
}

/** The images and the audio of all parts, in order, with their paths. `contentOf`: as in `ReadFilesOptions`. */
export function imagesIn(
  messages: readonly Message[],
  contentOf: (id: string) => Uint8Array | null = () => null,
): ImageSource[] {
  const found: ImageSource[] = [];
  for (const [message, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [index, part] of content.entries()) {
      const path = `messages[${message}].content[${index}]`;
      if (part.type === 'image_url') found.push(imageSource(part, `${path}.image_url.url`, contentOf));
      else if (part.type === 'audio_url')
        found.push({ kind: 'audio', from: part.audio_url.url, param: `${path}.audio_url.url` });
      else if (part.type === 'input_audio') found.push(audioSource(part.input_audio.data, path));
    }
  }
  return found;
}

function imageSource(
  { image_url: { url, file_id: id } }: ImagePart,
  param: string,
  contentOf: (id: string) => Uint8Array | null,
): ImageSource {
  if (url !== '' || id === undefined) return { from: url, param };
  const from = () => {
    const bytes = contentOf(id);
    if (bytes === null) throw invalidValue(`\`${param}\` names no uploaded file.`, param);
    return bytes;
  };
  return { from, param };
}
