/**
 * Where the fields of a chat body come from when the request was written in another protocol: what is wrong with one of
 * them is told by the name that its sender gave it.
 */
import { ChasquiError } from '../errors.js';
import type { ChatCompletionRequest } from '../schemas/chat-completion.js';
import type { Message } from '../schemas/message.js';
import { fieldOfError } from './field-of-error.js';
import { nameFailedImage } from './message-images.js';

/** A chat body that asks for the same as a request of another protocol. */
export interface ChatTranslation {
  body: ChatCompletionRequest;
  origins: FieldOrigins;
}

/** No field that has an origin is longer; the names in schemas, which may be, come behind. */
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

  /** Does the work and translates its failure. */
  async guard<Result>({ messages }: ChatBody, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (thrown) {
      throw this.translate(thrown, { messages });
    }
  }

  /** The failure as it is to be told; what names no field of the chat body stays as it is. */
  translate(failure: unknown, { messages }: ChatBody): unknown {
    const thrown = nameFailedImage(failure, messages);
    if (!(thrown instanceof ChasquiError)) return thrown;
    const param = fieldOfError(thrown);
    const origin = param && this.#originOf(param);
    if (!param || !origin) return thrown;
    const message = thrown.message.replaceAll(`\`${param}\``, `\`${origin}\``);
    return thrown.retold(message, origin);
  }

  /** What a field of the chat body, or a part of one, is called in the request. */
  nameOf(field: string): string {
    return this.#originOf(field) ?? field;
  }

  /** That of the nearest field around it that has one, and the way from there. */
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
