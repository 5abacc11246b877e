/**
 * Converts another protocol's conversation to the messages of a chat body. That protocol separates reasoning, text and
 * tool calls; they become one assistant message. Images and audio among a tool's results become a user message after them,
 * because the message of a tool contains text only.
 */

import type { FieldOrigins } from './field-origins.js';
import type { AssistantMessage, ContentPart, Message, TextPart, ToolCall } from './message-schema.js';

/** A part of a message, and the path of the field that it came from. */
export interface SourcedPart {
  part: ContentPart;
  origin: string;
  /** For an image: the path of its URL or of its bytes. */
  imageOrigin?: string;
  /** For a file: the path of its bytes. */
  dataOrigin?: string;
}

export type SourcedContent = string | readonly SourcedPart[];

export interface PastCall {
  id: string;
  name: string;
  /** Usually JSON text. */
  arguments: ToolCall['function']['arguments'];
}

interface AssistantTurn extends AssistantMessage {
  reasoning_content?: string;
}

function isMedia({ part }: SourcedPart): boolean {
  return part.type === 'image_url' || part.type === 'input_audio';
}

export class ChatMessageBuilder {
  readonly #messages: Message[] = [];
  /** The last message, if it is the assistant's and may still be extended. */
  #turn: AssistantTurn | null = null;
  /** Images and audio that no user message contains yet. */
  #images: SourcedPart[] = [];

  constructor(private readonly origins: FieldOrigins) {}

  addInstructions(role: 'system' | 'developer', content: SourcedContent, origin: string): void {
    this.#showImages(origin);
    this.#push({ role, content: this.#place(content, origin) as string | TextPart[] }, origin);
  }

  addUser(content: SourcedContent, origin: string): void {
    if (this.#images.length > 0) {
      const own: readonly SourcedPart[] =
        typeof content === 'string' ? [{ part: { type: 'text', text: content }, origin }] : content;
      content = [...this.#images, ...own];
      this.#images = [];
    }
    this.#push({ role: 'user', content: this.#place(content, origin) }, origin);
  }

  addReasoning(text: string, origin: string): void {
    // Reasoning precedes the text and calls that follow from it.
    if (this.#turn?.content !== undefined || this.#turn?.tool_calls) this.#turn = null;
    const turn = this.#openTurn(origin);
    turn.reasoning_content = (turn.reasoning_content ?? '') + text;
  }

  /** Text after a tool call belongs to the same message, because templates expect one message per turn. */
  addAssistantText(content: SourcedContent, origin: string): void {
    if (this.#turn?.content !== undefined && !this.#turn.tool_calls) this.#turn = null;
    const turn = this.#openTurn(origin);
    const message = this.#messages.length - 1;
    if (turn.content == null) {
      turn.content = this.#place(content, origin, message) as string | TextPart[];
      return;
    }
    const before = typeof turn.content === 'string' ? [{ type: 'text' as const, text: turn.content }] : turn.content;
    const own = typeof content === 'string' ? [{ part: { type: 'text', text: content } as const, origin }] : content;
    turn.content = [...before, ...(this.#place(own, origin, message, before.length) as TextPart[])];
  }

  addToolCall({ id, name, arguments: json }: PastCall, origin: string): void {
    const turn = this.#openTurn(origin);
    const calls = `messages[${this.#messages.length - 1}].tool_calls`;
    if (!turn.tool_calls) this.origins.set(calls, origin);
    turn.tool_calls ??= [];
    const field = `${calls}[${turn.tool_calls.length}]`;
    this.origins.set(field, origin);
    this.origins.set(`${field}.function`, origin);
    turn.tool_calls.push({ id, type: 'function', function: { name, arguments: json } });
  }

  addToolResult(callId: string, content: SourcedContent, origin: string): void {
    this.#turn = null;
    let texts = content;
    if (typeof content !== 'string') {
      this.#images.push(...content.filter(isMedia));
      texts = content.filter((part) => !isMedia(part));
    }
    const placed = this.#place(texts, origin) as string | TextPart[];
    this.#push({ role: 'tool', tool_call_id: callId, content: placed }, origin);
  }

  /** Returns all messages. `origin`: the field of the images that no message contains yet. */
  build(origin: string): Message[] {
    this.#showImages(origin);
    return this.#messages;
  }

  #openTurn(origin: string): AssistantTurn {
    if (this.#turn) return this.#turn;
    this.#showImages(origin);
    const turn: AssistantTurn = { role: 'assistant' };
    this.#push(turn, origin);
    this.#turn = turn;
    return turn;
  }

  #showImages(origin: string): void {
    if (this.#images.length > 0) this.addUser([], origin);
  }

  #push(message: Message, origin: string): void {
    this.#turn = null;
    this.origins.set(`messages[${this.#messages.length}]`, origin);
    this.#messages.push(message);
  }

  /**
   * Records the origins of a message's content, by default of the next message, and returns the content in the form of
   * chats.
   */
  #place(content: SourcedContent, origin: string, message = this.#messages.length, first = 0): string | ContentPart[] {
    const field = `messages[${message}].content`;
    if (first === 0) this.origins.set(field, origin);
    if (typeof content === 'string') return content;
    if (content.length === 0) return '';
    return content.map(({ part, origin: own, imageOrigin, dataOrigin }, index) => {
      const place = `${field}[${first + index}]`;
      this.origins.set(place, own);
      if (dataOrigin !== undefined) this.origins.set(`${place}.file.file_data`, dataOrigin);
      if (imageOrigin !== undefined) {
        this.origins.set(`${place}.image_url`, imageOrigin);
        this.origins.set(`${place}.image_url.url`, imageOrigin);
      }
      return part;
    });
  }
}
