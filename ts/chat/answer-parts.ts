/**
 * Deltas → the parts of an answer, for protocols that announce and close each of them: reasoning, text, tool calls. At
 * any time at most one part is open, and a part that was closed stays so.
 */
import { newId } from '../new-id.js';
import type { LogprobEntry, ToolCallDelta } from '../schemas/chat-response.js';
import type { AnswerDelta } from './answer-delta.js';

export interface AnswerPart {
  kind: 'reasoning' | 'text' | 'tool_call';
  /** Its place among the answer's parts. */
  index: number;
  /** All of it so far; of a tool call its arguments. */
  text: string;
  logprobs: LogprobEntry[];
  /** A tool call's, else empty. */
  callId: string;
  name: string;
}

export type PartEvent =
  | { type: 'opened' | 'closed'; part: AnswerPart }
  | { type: 'grown'; part: AnswerPart; by: string; logprobs: readonly LogprobEntry[] };

export class AnswerParts {
  /** Those that are there so far, in order. */
  readonly all: AnswerPart[] = [];
  #open: AnswerPart | null = null;
  /** The open tool call's number, as the deltas count them. */
  #callIndex = -1;

  add(delta: AnswerDelta): PartEvent[] {
    const events: PartEvent[] = [];
    if (delta.reasoning_content) this.#grow('reasoning', delta.reasoning_content, [], events);
    if (delta.content) this.#grow('text', delta.content, delta.logprobs ?? [], events);
    for (const call of delta.tool_calls ?? []) this.#addToCall(call, events);
    return events;
  }

  /** Closes what is open. */
  close(): PartEvent[] {
    const events: PartEvent[] = [];
    this.#closeInto(events);
    return events;
  }

  /** Opens an empty text. */
  openText(): PartEvent[] {
    const events: PartEvent[] = [];
    this.#openInto('text', events);
    return events;
  }

  #grow(kind: 'reasoning' | 'text', by: string, logprobs: LogprobEntry[], events: PartEvent[]): void {
    const part = this.#open?.kind === kind ? this.#open : this.#openInto(kind, events);
    this.#growInto(part, by, logprobs, events);
  }

  #addToCall(call: ToolCallDelta, events: PartEvent[]): void {
    const { name = '', arguments: by } = call.function;
    let part = this.#open;
    if (part?.kind !== 'tool_call' || call.index !== this.#callIndex) {
      this.#callIndex = call.index;
      part = this.#openInto('tool_call', events, call.id || newId('call_'), name);
    }
    if (by !== '') this.#growInto(part, by, [], events);
  }

  #growInto(part: AnswerPart, by: string, logprobs: LogprobEntry[], events: PartEvent[]): void {
    part.text += by;
    part.logprobs.push(...logprobs);
    events.push({ type: 'grown', part, by, logprobs });
  }

  #openInto(kind: AnswerPart['kind'], events: PartEvent[], callId = '', name = ''): AnswerPart {
    this.#closeInto(events);
    const part: AnswerPart = { kind, index: this.all.length, text: '', logprobs: [], callId, name };
    this.all.push(part);
    this.#open = part;
    events.push({ type: 'opened', part });
    return part;
  }

  #closeInto(events: PartEvent[]): void {
    if (this.#open) events.push({ type: 'closed', part: this.#open });
    this.#open = null;
  }
}
