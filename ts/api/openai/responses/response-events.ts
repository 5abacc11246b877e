/**
 * Converts a completion to a response: the events of its stream, and the whole response at its end. Items and their
 * parts are announced, continued and closed one after another. Events are numbered from 0.
 */

import { randomBytes } from 'node:crypto';
import type { Finish } from '../../../engine/engine.js';
import type { ErrorBody } from '../../../http/error-body.js';
import { type Framing, type SseEvent, serverSentEvents } from '../../../http/sse.js';
import { isComplete } from '../../shared/completion/call-arguments.js';
import type { LogprobEntry, PromptProgressReport } from '../../shared/completion/chat-reply-schema.js';
import { type CompletionProtocol, typedEvent } from '../../shared/completion/completion-event-encoder.js';
import { type CompletionPart, CompletionParts, type PartEvent } from '../../shared/completion/completion-parts.js';
import type { CompletionDelta } from '../../shared/completion/completion-reader.js';
import { toUsage } from '../../shared/completion/reply-fields.js';
import { InputReader } from '../../shared/tools/custom-tools.js';
import { isClientTool } from './local-tools.js';
import { nowInSeconds } from './new-response.js';
import type { ItemStatus, OutputItem, ResponseObject, ResponseUsage } from './object-schema.js';
import { idPrefixOf, toContent, toItem } from './output-items.js';
import type { CalledTool } from './response-tools.js';

/** The event that ends streams in Open Responses. */
export const responseFraming: Framing = { ...serverSentEvents, end: 'data: [DONE]\n\n' };

/** The event of a failure. It is the only event if the response has not begun. */
export function responseFailure({ error }: ErrorBody, number = 0): SseEvent[] {
  const { message, code, param } = error;
  // OpenAI's documented fields, and the error envelope that its client expects.
  return [typedEvent({ type: 'error', sequence_number: number, code, message, param, error })];
}

type CalledTools = Pick<ReadonlyMap<string, CalledTool>, 'get'>;

export interface ResponseSettings {
  /** The tools that the model may call, by their names in the chat. */
  tools?: CalledTools;
  /** Called with the whole response before its last event. */
  ended?: (response: ResponseObject) => void;
}

export class ResponseEvents implements CompletionProtocol {
  #parts = new CompletionParts();
  /** The index of the first item of the current completion. */
  #base = 0;
  readonly #tools: CalledTools;
  readonly #ended: (response: ResponseObject) => void;
  /** The reader of the open custom tool call. */
  #input = new InputReader();
  #response: ResponseObject;
  #nextNumber = 0;
  #queued = false;

  constructor(response: ResponseObject, { tools = new Map(), ended = () => {} }: ResponseSettings = {}) {
    this.#response = response;
    this.#tools = tools;
    this.#ended = ended;
  }

  get response(): ResponseObject {
    return this.#response;
  }

  /** Call this before `begin` while the response waits. */
  queue(): SseEvent[] {
    this.#queued = true;
    this.#response = { ...this.#response, status: 'queued' };
    return [this.#ofResponse('response.created'), this.#ofResponse('response.queued')];
  }

  begin(): SseEvent[] {
    const created = this.#queued ? [] : [this.#ofResponse('response.created')];
    this.#response = { ...this.#response, status: 'in_progress' };
    return [...created, this.#ofResponse('response.in_progress')];
  }

  /** Call this after `begin`: repeats the state, with the progress of the prompt. */
  progress(prompt_progress: PromptProgressReport): SseEvent {
    return this.#event('response.in_progress', { response: this.#response, prompt_progress });
  }

  add(delta: CompletionDelta): SseEvent[] {
    return this.#tell(this.#parts.add(delta), 'completed');
  }

  end(finish: Finish, reasoningTokens: number | null): SseEvent[] {
    return [...this.endTurn(finish, reasoningTokens), ...this.complete(finish)];
  }

  /** Ends one completion. Others may follow before `complete`. */
  endTurn(finish: Finish, reasoningTokens: number | null): SseEvent[] {
    const status = finish.reason === 'length' ? 'incomplete' : 'completed';
    // Clients expect a message even if the completion is empty.
    const empty = this.#parts.all.length === 0 ? this.#parts.openText() : [];
    const events = this.#tell([...empty, ...this.#parts.close()], status);
    const { usage } = this.#response;
    this.#response = { ...this.#response, usage: addUsage(usage, toResponseUsage(finish, reasoningTokens)) };
    this.#parts = new CompletionParts();
    this.#base = this.#response.output.length;
    return events;
  }

  /** Ends the response with the end of its last completion. */
  complete(finish: Finish): SseEvent[] {
    const status = finish.reason === 'length' ? 'incomplete' : 'completed';
    this.#response = {
      ...this.#response,
      status,
      completed_at: status === 'completed' ? nowInSeconds() : null,
      incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    };
    this.#ended(this.#response);
    return [this.#ofResponse(`response.${status}`)];
  }

  fail(body: ErrorBody): SseEvent[] {
    const { message, type } = body.error;
    const events = [...this.#tell(this.#parts.close(), 'incomplete'), ...this.#abandonCalls()];
    // Clients react to errors of their request: after `context_length_exceeded` they shorten the conversation.
    const code = type === 'server_error' ? type : body.error.code;
    this.#response = { ...this.#response, status: 'failed', error: { code, message } };
    this.#ended(this.#response);
    events.push(this.#ofResponse('response.failed'));
    return [...events, ...responseFailure(body, this.#nextNumber++)];
  }

  /** The protocol has no event for this, so `body` is reported as an error. */
  cancel(body: ErrorBody): SseEvent[] {
    const events = [...this.#tell(this.#parts.close(), 'incomplete'), ...this.#abandonCalls()];
    this.#response = { ...this.#response, status: 'cancelled' };
    this.#ended(this.#response);
    return [...events, ...responseFailure(body, this.#nextNumber++)];
  }

  /** Adds an item that is no part of a completion. */
  addItem(item: OutputItem): SseEvent {
    const index = this.#response.output.push(item) - 1;
    this.#base = index + 1;
    return this.#event('response.output_item.added', { output_index: index, item });
  }

  ofItem(type: string, { id }: OutputItem, fields: Record<string, unknown> = {}): SseEvent {
    return this.#event(type, { item_id: id, output_index: this.#indexOf(id), ...fields });
  }

  /** Replaces the item with this id by its last state. */
  closeItem(item: OutputItem): SseEvent {
    const index = this.#indexOf(item.id);
    this.#response.output[index] = item;
    return this.#event('response.output_item.done', { output_index: index, item });
  }

  #abandonCalls(): SseEvent[] {
    return this.#response.output.flatMap((item) => {
      if (item.type !== 'mcp_call' || item.status !== 'in_progress') return [];
      return [this.closeItem({ ...item, status: 'incomplete' })];
    });
  }

  #indexOf(id: string): number {
    return this.#response.output.findIndex((item) => item.id === id);
  }

  #tell(changes: readonly PartEvent[], status: ItemStatus): SseEvent[] {
    return changes.flatMap((change) => {
      if (change.type === 'opened') return this.#open(change.part);
      if (change.type === 'grown') return this.#grow(change.part, change.by, change.logprobs);
      const { kind, text } = change.part;
      return this.#close(change.part, kind === 'tool_call' && !isComplete(text) ? 'incomplete' : status);
    });
  }

  #open(part: CompletionPart): SseEvent[] {
    // The part may already have text; the next event contains it.
    const empty = { ...part, text: '', logprobs: [] };
    const tool = this.#toolOf(part);
    const item = toItem(empty, tool, {
      id: `${idPrefixOf(part, tool)}${randomBytes(16).toString('hex')}`,
      status: 'in_progress',
    });
    this.#input = new InputReader();
    this.#response.output.push(item);
    const events = [this.#event('response.output_item.added', { output_index: this.#at(part), item })];
    if (item.type === 'mcp_call') events.push(this.ofItem('response.mcp_call.in_progress', item));
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
        return this.#growCall(part, by);
    }
  }

  #growCall(part: CompletionPart, by: string): SseEvent[] {
    const { type } = this.#toolOf(part);
    if (isClientTool(type) || type === 'mcp_approval_request') return [];
    if (type === 'mcp_call') return [this.#inItem('response.mcp_call_arguments.delta', part, { delta: by })];
    if (type === 'function') {
      return [this.#inItem('response.function_call_arguments.delta', part, { delta: by })];
    }
    const delta = this.#input.push(by);
    return delta === '' ? [] : [this.#inItem('response.custom_tool_call_input.delta', part, { delta })];
  }

  #close(part: CompletionPart, status: ItemStatus): SseEvent[] {
    const { text, logprobs } = part;
    const tool = this.#toolOf(part);
    const item = toItem(part, tool, { id: this.#idOf(part), status, content: [toContent(part)] });
    const events: SseEvent[] = [];
    if (item.type === 'custom_tool_call') {
      events.push(this.#inItem('response.custom_tool_call_input.done', part, { input: item.input }));
    } else if (item.type === 'function_call') {
      const { name } = tool;
      events.push(this.#inItem('response.function_call_arguments.done', part, { name, arguments: text }));
    } else if (item.type === 'mcp_call') {
      events.push(this.#inItem('response.mcp_call_arguments.done', part, { arguments: text }));
    } else if (part.kind !== 'tool_call') {
      const isText = part.kind === 'text';
      const done = isText ? 'response.output_text.done' : 'response.reasoning_text.done';
      events.push(this.#inPart(done, part, isText ? { text, logprobs } : { text }));
      events.push(this.#inPart('response.content_part.done', part, { part: toContent(part) }));
    }
    this.#response.output[this.#at(part)] = item;
    // The call itself follows.
    if (item.type === 'mcp_call' && item.status === 'in_progress') return events;
    events.push(this.#event('response.output_item.done', { output_index: this.#at(part), item }));
    return events;
  }

  #inPart(type: string, part: CompletionPart, fields: Record<string, unknown>): SseEvent {
    return this.#inItem(type, part, { content_index: 0, ...fields });
  }

  #inItem(type: string, part: CompletionPart, fields: Record<string, unknown>): SseEvent {
    return this.#event(type, { item_id: this.#idOf(part), output_index: this.#at(part), ...fields });
  }

  #ofResponse(type: string): SseEvent {
    return this.#event(type, { response: this.#response });
  }

  #event(type: string, fields: Record<string, unknown>): SseEvent {
    return typedEvent({ type, sequence_number: this.#nextNumber++, ...fields });
  }

  /** Without a grammar, a model may call an unknown tool. */
  #toolOf({ name }: CompletionPart): CalledTool {
    return this.#tools.get(name) ?? { type: 'function', name, namespace: null };
  }

  #idOf(part: CompletionPart): string {
    return (this.#response.output[this.#at(part)] as OutputItem).id;
  }

  #at({ index }: CompletionPart): number {
    return this.#base + index;
  }
}

function addUsage(earlier: ResponseUsage | null, usage: ResponseUsage): ResponseUsage {
  if (earlier === null) return usage;
  const { input_tokens_details: input, output_tokens_details: output } = usage;
  return {
    input_tokens: earlier.input_tokens + usage.input_tokens,
    input_tokens_details: {
      ...input,
      cached_tokens: earlier.input_tokens_details.cached_tokens + input.cached_tokens,
    },
    output_tokens: earlier.output_tokens + usage.output_tokens,
    output_tokens_details: {
      reasoning_tokens: earlier.output_tokens_details.reasoning_tokens + output.reasoning_tokens,
    },
    total_tokens: earlier.total_tokens + usage.total_tokens,
  };
}

function toResponseUsage(finish: Finish, reasoningTokens: number | null): ResponseUsage {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = toUsage([finish]);
  return {
    input_tokens: prompt_tokens,
    // OpenAI replies this for models that do not bill writes to the cache.
    input_tokens_details: { cached_tokens: prompt_tokens_details.cached_tokens, cache_write_tokens: 0 },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
    total_tokens,
  };
}
