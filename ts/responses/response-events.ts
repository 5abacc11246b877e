/**
 * A completion as a response: the events of its stream, and the whole response at its end. Items and their parts are
 * announced, continued and closed one after the other, and the events are numbered from 0.
 */

import { type CompletionProtocol, type SseEvent, typedEvent } from '../chat/completion-event-encoder.js';
import { type CompletionPart, CompletionParts, type PartEvent } from '../chat/completion-parts.js';
import type { CompletionDelta } from '../chat/completion-reader.js';
import { toUsage } from '../chat/usage.js';
import type { Finish } from '../engine/engine.js';
import { newId } from '../new-id.js';
import type { LogprobEntry } from '../schemas/chat-response.js';
import type { ErrorBody } from '../schemas/error.js';
import type { ItemStatus, OutputItem, OutputText, ResponseObject, ResponseUsage } from '../schemas/response-object.js';
import { nowInSeconds } from './new-response.js';

const ID_PREFIXES = { reasoning: 'rs_', text: 'msg_', tool_call: 'fc_' } as const;

/** The event of a failure; alone, where there is no response yet. */
export function responseFailure({ error }: ErrorBody, number = 0): SseEvent[] {
  const { message, code, param } = error;
  // OpenAI's documented fields, and the envelope of every failure, by which its client knows an error.
  return [typedEvent({ type: 'error', sequence_number: number, code, message, param, error })];
}

export class ResponseEvents implements CompletionProtocol {
  readonly #parts = new CompletionParts();
  #response: ResponseObject;
  #nextNumber = 0;

  constructor(response: ResponseObject) {
    this.#response = response;
  }

  /** The response so far. */
  get response(): ResponseObject {
    return this.#response;
  }

  begin(): SseEvent[] {
    return [this.#ofResponse('response.created'), this.#ofResponse('response.in_progress')];
  }

  add(delta: CompletionDelta): SseEvent[] {
    return this.#tell(this.#parts.add(delta), 'completed');
  }

  end(finish: Finish, reasoningTokens: number | null): SseEvent[] {
    const status = finish.reason === 'length' ? 'incomplete' : 'completed';
    // Clients look for a message even where the model had nothing to say.
    const empty = this.#parts.all.length === 0 ? this.#parts.openText() : [];
    const events = this.#tell([...empty, ...this.#parts.close()], status);
    this.#response = {
      ...this.#response,
      status,
      completed_at: status === 'completed' ? nowInSeconds() : null,
      incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
      usage: toResponseUsage(finish, reasoningTokens),
    };
    events.push(this.#ofResponse(`response.${status}`));
    return events;
  }

  fail(body: ErrorBody): SseEvent[] {
    const { message } = body.error;
    const events = this.#tell(this.#parts.close(), 'incomplete');
    this.#response = { ...this.#response, status: 'failed', error: { code: 'server_error', message } };
    events.push(this.#ofResponse('response.failed'));
    return [...events, ...responseFailure(body, this.#nextNumber++)];
  }

  #tell(changes: readonly PartEvent[], status: ItemStatus): SseEvent[] {
    return changes.flatMap((change) => {
      if (change.type === 'opened') return this.#open(change.part);
      if (change.type === 'grown') return this.#grow(change.part, change.by, change.logprobs);
      return this.#close(change.part, status);
    });
  }

  #open(part: CompletionPart): SseEvent[] {
    // The part may have text already; the event that follows this one tells of it.
    const empty = { ...part, text: '', logprobs: [] };
    const item = toItem(empty, newId(ID_PREFIXES[part.kind]), 'in_progress');
    this.#response.output.push(item);
    const events = [this.#event('response.output_item.added', { output_index: part.index, item })];
    if (part.kind === 'tool_call') return events;
    return [...events, this.#inPart('response.content_part.added', part, { part: toContent(empty) })];
  }

  #grow(part: CompletionPart, by: string, logprobs: readonly LogprobEntry[]): SseEvent[] {
    switch (part.kind) {
      case 'reasoning':
        return [this.#inPart('response.reasoning_text.delta', part, { delta: by })];
      case 'text':
        return [this.#inPart('response.output_text.delta', part, { delta: by, logprobs })];
      case 'tool_call':
        return [this.#inItem('response.function_call_arguments.delta', part, { delta: by })];
    }
  }

  #close(part: CompletionPart, status: ItemStatus): SseEvent[] {
    const { text, logprobs, name } = part;
    const events: SseEvent[] = [];
    if (part.kind === 'tool_call') {
      events.push(this.#inItem('response.function_call_arguments.done', part, { name, arguments: text }));
    } else {
      const isText = part.kind === 'text';
      const done = isText ? 'response.output_text.done' : 'response.reasoning_text.done';
      events.push(this.#inPart(done, part, isText ? { text, logprobs } : { text }));
      events.push(this.#inPart('response.content_part.done', part, { part: toContent(part) }));
    }
    const item = toItem(part, this.#idOf(part), status, [toContent(part)]);
    this.#response.output[part.index] = item;
    events.push(this.#event('response.output_item.done', { output_index: part.index, item }));
    return events;
  }

  #inPart(type: string, part: CompletionPart, fields: Record<string, unknown>): SseEvent {
    return this.#inItem(type, part, { content_index: 0, ...fields });
  }

  #inItem(type: string, part: CompletionPart, fields: Record<string, unknown>): SseEvent {
    return this.#event(type, { item_id: this.#idOf(part), output_index: part.index, ...fields });
  }

  #ofResponse(type: string): SseEvent {
    return this.#event(type, { response: this.#response });
  }

  #event(type: string, fields: Record<string, unknown>): SseEvent {
    return typedEvent({ type, sequence_number: this.#nextNumber++, ...fields });
  }

  #idOf(part: CompletionPart): string {
    return (this.#response.output[part.index] as OutputItem).id;
  }
}

type Content = OutputText | { type: 'reasoning_text'; text: string };

function toContent({ kind, text, logprobs }: CompletionPart): Content {
  if (kind === 'reasoning') return { type: 'reasoning_text', text };
  return { type: 'output_text', text, annotations: [], logprobs };
}

function toItem(part: CompletionPart, id: string, status: ItemStatus, content: Content[] = []): OutputItem {
  switch (part.kind) {
    case 'reasoning':
      return {
        type: 'reasoning',
        id,
        status,
        summary: [],
        content: content as { type: 'reasoning_text'; text: string }[],
      };
    case 'text':
      return { type: 'message', id, status, role: 'assistant', content: content as OutputText[] };
    case 'tool_call':
      return { type: 'function_call', id, status, call_id: part.callId, name: part.name, arguments: part.text };
  }
}

function toResponseUsage(finish: Finish, reasoningTokens: number | null): ResponseUsage {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = toUsage([finish]);
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens: prompt_tokens_details.cached_tokens },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
    total_tokens,
  };
}
