/** Converts a completion to Ollama's protocol: the lines of a stream, or the whole reply. */

import type { TokenStream } from '../../../engine/engine.js';
import { parseArguments, toCallText } from '../../shared/completion/call-arguments.js';
import type { LogprobEntry } from '../../shared/completion/chat-reply-schema.js';
import { type CallDelta, type CompletionDelta, CompletionReader } from '../../shared/completion/completion-reader.js';
import { type ChoiceBatch, forEachChoice } from '../../shared/completion/stream-reply.js';
import { ollamaFailure, type RequestTimes, toEnding } from '../ollama-settings.js';
import type { OllamaToolCall } from '../schema.js';

export interface LineSettings {
  model: string;
  /** Lines of a chat have a `message`, others a `response`. */
  isChat: boolean;
  /** Whether the tokens come with what they were parsed to. */
  parsed: boolean;
  times: RequestTimes;
}

/** The part of the completion in one line, or all of it. */
interface Piece {
  content: string;
  thinking: string;
  calls: OllamaToolCall[];
  logprobs: LogprobEntry[];
}

interface ReportedCall {
  index: number;
  id: string;
  name: string;
  json: string;
}

export class CompletionLines {
  readonly fail = ollamaFailure;
  readonly #reader: CompletionReader;
  readonly #whole: Piece = { content: '', thinking: '', calls: [], logprobs: [] };
  /** The incomplete tool call. Arguments are sent as an object, and therefore only when they are complete. */
  #call: ReportedCall | null = null;

  constructor(private readonly settings: LineSettings) {
    this.#reader = new CompletionReader(settings.parsed);
  }

  encode({ tokens }: ChoiceBatch): string[] {
    return this.#reader.read(tokens).flatMap((delta) => this.#add(delta));
  }

  /** The lines after the last token. Throws when the completion has not ended. */
  end(): string[] {
    const { finish } = this.#reader;
    const rest = this.#add({ logprobs: this.#reader.takeLogprobs() }, this.#closeCall());
    const last = { ...this.#line({}), done: true, ...toEnding(this.settings.times, finish) };
    return [...rest, JSON.stringify(last)];
  }

  /** Reads the streams to their ends, and returns the whole reply. */
  async collect(streams: readonly TokenStream[]): Promise<object> {
    await forEachChoice(streams, (batch) => void this.encode(batch));
    this.end();
    return { ...this.#line(this.#whole), done: true, ...toEnding(this.settings.times, this.#reader.finish) };
  }

  #add(delta: CompletionDelta, ended = this.#readCalls(delta.tool_calls ?? [])): string[] {
    const { reasoning_content: thinking = '', logprobs = [] } = delta;
    const calls = ended.flatMap((call) => toToolCall(call) ?? []);
    const cut = ended.filter((call) => toToolCall(call) === null).map(({ name, json }) => toCallText(name, json));
    const content = (delta.content ?? '') + cut.join('');
    if (content === '' && thinking === '' && calls.length === 0 && logprobs.length === 0) return [];
    this.#whole.content += content;
    this.#whole.thinking += thinking;
    this.#whole.calls.push(...calls);
    this.#whole.logprobs.push(...logprobs);
    return [JSON.stringify({ ...this.#line({ content, thinking, calls, logprobs }), done: false })];
  }

  #readCalls(deltas: readonly CallDelta[]): ReportedCall[] {
    const ended: ReportedCall[] = [];
    for (const { index, id = '', function: piece } of deltas) {
      if (this.#call?.index !== index) {
        ended.push(...this.#closeCall());
        this.#call = { index, id, name: piece.name ?? '', json: '' };
      }
      this.#call.json += piece.arguments;
    }
    return ended;
  }

  #closeCall(): ReportedCall[] {
    const call = this.#call;
    this.#call = null;
    return call === null ? [] : [call];
  }

  #line({ content = '', thinking = '', calls = [], logprobs = [] }: Partial<Piece>): Record<string, unknown> {
    const head = { model: this.settings.model, created_at: new Date().toISOString() };
    const told = logprobs.length > 0 && { logprobs };
    const reasoning = thinking !== '' && { thinking };
    if (!this.settings.isChat) return { ...head, response: content, ...reasoning, ...told };
    const message = { role: 'assistant', content, ...reasoning, ...(calls.length > 0 && { tool_calls: calls }) };
    return { ...head, message, ...told };
  }
}

/** Null for a call that was cut off. */
function toToolCall({ index, id, name, json }: ReportedCall): OllamaToolCall | null {
  const parsed = parseArguments(json);
  return parsed && { id, function: { index, name, arguments: parsed } };
}
