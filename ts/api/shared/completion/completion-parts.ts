/**
 * Converts deltas to the parts of a completion (reasoning, text, tool calls), for protocols that announce and close
 * each part. At most one part is open, and a closed part is never reopened.
 */
import { randomBytes } from 'node:crypto';
import type { LogprobEntry } from './chat-reply-schema.js';
import type { CallDelta, CompletionDelta } from './completion-reader.js';

export interface CompletionPart {
  kind: 'reasoning' | 'text' | 'tool_call';
  /** Index among the completion's parts. */
  index: number;
  /** All text so far, or the arguments of a tool call. */
  text: string;
  logprobs: LogprobEntry[];
  /** Empty for other parts than tool calls. */
  callId: string;
  name: string;
}

export type PartEvent =
  | { type: 'opened' | 'closed'; part: CompletionPart }
  | { type: 'grown'; part: CompletionPart; by: string; logprobs: readonly LogprobEntry[] };

export class CompletionParts {
  /** The parts so far, in order. */
  readonly all: CompletionPart[] = [];
  #open: CompletionPart | null = null;
  /** The index of the open tool call, as in the deltas. */
  #callIndex = -1;

  add(delta: CompletionDelta): PartEvent[] {
    const events: PartEvent[] = [];
    if (delta.reasoning_content) this.#grow('reasoning', delta.reasoning_content, [], events);
    if (delta.content) this.#grow('text', delta.content, delta.logprobs ?? [], events);
    for (const call of delta.tool_calls ?? []) this.#addToCall(call, events);
    return events;
  }

  /** Closes the open part, if there is one. */
  close(): PartEvent[] {
    const events: PartEvent[] = [];
    this.#closeInto(events);
    return events;
  }

  openText(): PartEvent[] {
    const events: PartEvent[] = [];
    this.#openInto('text', events);
    return events;
  }

  #grow(kind: 'reasoning' | 'text', by: string, logprobs: LogprobEntry[], events: PartEvent[]): void {
    const part = this.#open?.kind === kind ? this.#open : this.#openInto(kind, events);
    this.#growInto(part, by, logprobs, events);
  }

  #addToCall(call: CallDelta, events: PartEvent[]): void {
    const { name = '', arguments: by } = call.function;
    let part = this.#open;
    if (part?.kind !== 'tool_call' || call.index !== this.#callIndex) {
      this.#callIndex = call.index;
      part = this.#openInto('tool_call', events, call.id || `call_${randomBytes(16).toString('hex')}`, name);
    }
    if (by !== '') this.#growInto(part, by, [], events);
  }

  #growInto(part: CompletionPart, by: string, logprobs: LogprobEntry[], events: PartEvent[]): void {
    part.text += by;
    part.logprobs.push(...logprobs);
    events.push({ type: 'grown', part, by, logprobs });
  }

  #openInto(kind: CompletionPart['kind'], events: PartEvent[], callId = '', name = ''): CompletionPart {
    this.#closeInto(events);
    const part: CompletionPart = { kind, index: this.all.length, text: '', logprobs: [], callId, name };
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
