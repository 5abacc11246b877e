/** Converts a completion to Anthropic's protocol: the events of a stream, or the whole message. */

import { randomBytes } from 'node:crypto';
import type { Finish } from '../../../engine/engine.js';
import type { ErrorBody } from '../../../http/error-body.js';
import type { SseEvent } from '../../../http/sse.js';
import { toAnthropicError } from '../../shared/anthropic-errors.js';
import { parseArguments, toCallText } from '../../shared/completion/call-arguments.js';
import { type CompletionProtocol, typedEvent } from '../../shared/completion/completion-event-encoder.js';
import { type CompletionPart, CompletionParts, type PartEvent } from '../../shared/completion/completion-parts.js';
import type { CompletionDelta } from '../../shared/completion/completion-reader.js';
import type { CompletionBlock, MessageReply, StopReason } from './reply-schema.js';

export interface MessageSettings {
  model: string;
  /** Named in failures. */
  requestId: string;
  /** Number of prompt tokens; 0 if it is not known before the completion begins. */
  promptTokens: number;
  maxTokens: number;
  stopSequences: readonly string[];
  /** Called with the whole message before its last event is sent. */
  ended?: ((message: MessageReply) => void) | undefined;
}

/**
 * Clients with types rely on the fields that this server has no value for. Texts have no `citations`: the AI SDK rejects null
 * there.
 */
export const NOT_STOPPED = { container: null, stop_details: null, stop_reason: null, stop_sequence: null };
export const ABSENT_USAGE = {
  cache_creation: null,
  cache_creation_input_tokens: 0,
  inference_geo: null,
  output_tokens_details: null,
  server_tool_use: null,
  service_tier: 'standard',
  speed: null,
} as const;

/** The event of a failure; alone, where there is no message yet. */
export function messageFailure(body: ErrorBody, requestId: string | null = null): SseEvent[] {
  return [typedEvent({ ...toAnthropicError(body, requestId) })];
}

export class MessageEvents implements CompletionProtocol {
  readonly #parts = new CompletionParts();
  #message: MessageReply;

  constructor(private readonly settings: MessageSettings) {
    this.#message = {
      id: `msg_${randomBytes(16).toString('hex')}`,
      type: 'message',
      role: 'assistant',
      model: settings.model,
      content: [],
      ...NOT_STOPPED,
      diagnostics: null,
      usage: { ...ABSENT_USAGE, input_tokens: settings.promptTokens, cache_read_input_tokens: 0, output_tokens: 0 },
    };
  }

  get message(): MessageReply {
    return this.#message;
  }

  begin(): SseEvent[] {
    return [typedEvent({ type: 'message_start', message: this.#message }), typedEvent({ type: 'ping' })];
  }

  add(delta: CompletionDelta): SseEvent[] {
    return this.#parts.add(delta).flatMap(toEvents);
  }

  end(finish: Finish, reasoningTokens: number | null): SseEvent[] {
    const events = this.#parts.close().flatMap(toEvents);
    const stopped = {
      ...NOT_STOPPED,
      stop_reason: this.#stopReason(finish),
      stop_sequence: this.#isAskedFor(finish.stopString) ? finish.stopString : null,
    };
    const usage = {
      ...ABSENT_USAGE,
      input_tokens: finish.promptTokens - finish.cachedTokens,
      cache_read_input_tokens: finish.cachedTokens,
      output_tokens: finish.completionTokens,
      output_tokens_details: reasoningTokens === null ? null : { thinking_tokens: reasoningTokens },
    };
    this.#message = { ...this.#message, ...stopped, content: this.#parts.all.map(toBlock), usage };
    this.settings.ended?.(this.#message);
    events.push(typedEvent({ type: 'message_delta', delta: stopped, usage }), typedEvent({ type: 'message_stop' }));
    return events;
  }

  fail(body: ErrorBody): SseEvent[] {
    return [...this.#parts.close().flatMap(toEvents), ...messageFailure(body, this.settings.requestId)];
  }

  #stopReason(finish: Finish): StopReason {
    if (finish.reason === 'length') {
      return finish.completionTokens < this.settings.maxTokens ? 'model_context_window_exceeded' : 'max_tokens';
    }
    const calls = this.#parts.all.filter(({ kind }) => kind === 'tool_call');
    if (calls.length > 0 && calls.every(({ text }) => parseArguments(text) !== null)) return 'tool_use';
    return this.#isAskedFor(finish.stopString) ? 'stop_sequence' : 'end_turn';
  }

  /** Excludes stop strings that the template added. */
  #isAskedFor(stopString: string | null): boolean {
    return stopString !== null && this.settings.stopSequences.includes(stopString);
  }
}

function toEvents(change: PartEvent): SseEvent[] {
  const { index } = change.part;
  switch (change.type) {
    case 'opened':
      return [typedEvent({ type: 'content_block_start', index, content_block: toEmptyBlock(change.part) })];
    case 'grown':
      return [typedEvent({ type: 'content_block_delta', index, delta: toDelta(change.part, change.by) })];
    case 'closed':
      return [...sign(change.part), typedEvent({ type: 'content_block_stop', index })];
  }
}

function toDelta({ kind }: CompletionPart, by: string): object {
  switch (kind) {
    case 'reasoning':
      return { type: 'thinking_delta', thinking: by };
    case 'text':
      return { type: 'text_delta', text: by };
    case 'tool_call':
      return { type: 'input_json_delta', partial_json: by };
  }
}

/** Clients wait for a signature before reasoning ends; here there is none to give. */
function sign({ kind, index }: CompletionPart): SseEvent[] {
  if (kind !== 'reasoning') return [];
  return [typedEvent({ type: 'content_block_delta', index, delta: { type: 'signature_delta', signature: '' } })];
}

function toEmptyBlock(part: CompletionPart): CompletionBlock {
  return toBlock({ ...part, text: part.kind === 'tool_call' ? '{}' : '' });
}

/** A call that was cut off is text. */
function toBlock({ kind, text, callId, name }: CompletionPart): CompletionBlock {
  switch (kind) {
    case 'reasoning':
      return { type: 'thinking', thinking: text, signature: '' };
    case 'text':
      return { type: 'text', text };
    case 'tool_call': {
      const input = parseArguments(text);
      if (input === null) return { type: 'text', text: toCallText(name, text) };
      return { type: 'tool_use', id: callId, name, input, caller: { type: 'direct' } };
    }
  }
}
