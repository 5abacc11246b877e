/** Converts each message of an Ollama chat to a message of a chat body. */

import { imageTypeOf } from '../../../images/validate-image.js';
import type { FieldOrigins } from '../../shared/chat/field-origins.js';
import type { ContentPart, Message } from '../../shared/chat/message-schema.js';
import type { OllamaMessage } from '../schema.js';

type ToolMessage = Extract<OllamaMessage, { role: 'tool' }>;
type AssistantMessage = Extract<OllamaMessage, { role: 'assistant' }>;

export function toMessages(messages: readonly OllamaMessage[], origins: FieldOrigins): Message[] {
  const calls = new OpenCalls();
  return messages.map((message, index) => toMessage(message, index));

  function toMessage(message: OllamaMessage, index: number): Message {
    switch (message.role) {
      case 'system':
        return { role: 'system', content: message.content };
      case 'user':
        return toUserMessage(
          message.content ?? '',
          message.images ?? [],
          { index, origin: `messages[${index}]` },
          origins,
        );
      case 'assistant':
        return toAssistantMessage(message, calls);
      case 'tool':
        return { role: 'tool', content: message.content, tool_call_id: calls.idFor(message) };
    }
  }
}

/** The index of a message in the chat body, and the field that its images came from. */
interface Place {
  index: number;
  origin: string;
}

/** Images follow the text. */
export function toUserMessage(
  text: string,
  images: readonly string[],
  { index, origin }: Place,
  origins: FieldOrigins,
): Message {
  if (images.length === 0) return { role: 'user', content: text };
  const content: ContentPart[] = text === '' ? [] : [{ type: 'text', text }];
  images.forEach((image, at) => {
    const field = `messages[${index}].content[${content.length}].image_url`;
    const own = `${origin === '' ? '' : `${origin}.`}images[${at}]`;
    origins.set(field, own);
    origins.set(`${field}.url`, own);
    content.push({ type: 'image_url', image_url: { url: toDataUri(image) } });
  });
  return { role: 'user', content };
}

/** As many characters in base64 as the longest signature needs. */
const SIGNATURE_LENGTH = 24;

function toDataUri(image: string): string {
  if (/^data:/i.test(image)) return image;
  const beginning = Buffer.from(image.slice(0, SIGNATURE_LENGTH), 'base64');
  return `data:${imageTypeOf(beginning) ?? 'image/png'};base64,${image}`;
}

function toAssistantMessage({ content, thinking, tool_calls: sent }: AssistantMessage, calls: OpenCalls): Message {
  const named = (sent ?? []).map((call) => ({ ...call, id: calls.open(call.function.name, call.id) }));
  return {
    role: 'assistant',
    content: content ?? '',
    ...(thinking && { reasoning_content: thinking }),
    ...(named.length > 0 && {
      tool_calls: named.map(({ id, function: { name, arguments: given = {} } }) => ({
        id,
        type: 'function' as const,
        function: { name, arguments: given },
      })),
    }),
  };
}

/** Calls have ids in templates and often none in Ollama's messages, where results follow them by name or in order. */
class OpenCalls {
  /** The name of each, by its id, in order. */
  readonly #names = new Map<string, string>();
  readonly #ids = new Map<string, Set<string>>();
  #count = 0;

  open(name: string, given: string | null | undefined): string {
    this.#count += 1;
    const id = given || `call_${this.#count}`;
    this.#names.set(id, name);
    this.#ids.set(name, (this.#ids.get(name) ?? new Set()).add(id));
    return id;
  }

  /** The call that a message is the result of; null if there is none. */
  idFor({ tool_call_id: given, tool_name: toolName, name = toolName }: ToolMessage): string | null {
    const id = given || first(this.#ids.get(name ?? '')) || first(this.#names.keys()) || null;
    if (id !== null) this.#close(id);
    return id;
  }

  #close(id: string): void {
    const name = this.#names.get(id);
    if (name !== undefined) this.#ids.get(name)?.delete(id);
    this.#names.delete(id);
  }
}

function first(ids: Iterable<string> = []): string | undefined {
  const [id] = ids;
  return id;
}
