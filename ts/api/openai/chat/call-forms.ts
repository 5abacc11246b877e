/**
 * Converts the calls of one completion, all of functions, to those of chat replies: calls of custom tools have a text.
 */

import type { ToolCallReply } from '../../shared/completion/chat-reply-schema.js';
import type { CallDelta } from '../../shared/completion/completion-reader.js';
import { InputReader } from '../../shared/tools/custom-tools.js';
import type { ToolCallDelta } from './schema.js';

export class CallForms {
  /** Readers of calls to custom tools, keyed by the index of the call. */
  readonly #inputs = new Map<number, InputReader>();

  constructor(private readonly customTools: ReadonlySet<string>) {}

  /** Returns the piece for the client, or null if it adds no character to the text. */
  toDelta(delta: CallDelta): ToolCallDelta | null {
    const { index, id = '', function: piece } = delta;
    if (piece.name !== undefined && this.customTools.has(piece.name)) {
      const reader = new InputReader();
      this.#inputs.set(index, reader);
      return { index, id, type: 'custom', custom: { name: piece.name, input: reader.push(piece.arguments) } };
    }
    const reader = this.#inputs.get(index);
    return reader === undefined ? delta : toInput(index, reader.push(piece.arguments));
  }

  /** Returns the rest of malformed arguments. Call it after the last token. */
  rest(): ToolCallDelta[] {
    return [...this.#inputs].flatMap(([index, reader]) => toInput(index, reader.rest()) ?? []);
  }

  toCall(id: string, name: string, json: string): ToolCallReply {
    if (!this.customTools.has(name)) return { id, type: 'function', function: { name, arguments: json } };
    return { id, type: 'custom', custom: { name, input: json === '' ? '' : InputReader.whole(json) } };
  }
}

export function toOldReason<Reason extends string>(reason: Reason): Reason | 'function_call' {
  return reason === 'tool_calls' ? 'function_call' : reason;
}

function toInput(index: number, input: string): ToolCallDelta | null {
  return input === '' ? null : { index, custom: { input } };
}
