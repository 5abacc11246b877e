/** Public `ChatSession`: a conversation that calls functions and shortens itself. */
import type { ChatTool, Engine } from '../engine/engine.js';
import type { MessagesRequest } from '../engine/generate.js';
import type { GenerateMessage, GeneratePart } from '../engine/load-chat-images.js';
import { firstKept } from '../engine/oldest-turns.js';
import type { Reply, ReplyFinish, ReplyToken } from '../engine/reply-stream.js';
import { ChasquiError, invalidValue } from '../errors.js';

/** A function that the session runs when the model calls it. */
export interface SessionTool extends ChatTool {
  /**
   * Gets the parsed arguments. The model reads the result: a text, or a value that is turned into JSON. It also reads the message
   * of an exception.
   */
  // biome-ignore lint/suspicious/noExplicitAny: each function knows its own arguments
  run(input: any, on: { signal: AbortSignal | undefined }): unknown;
}

/** Fields of `generate` for all completions of the session, and: */
export interface SessionOptions extends Omit<MessagesRequest, 'messages' | 'tools' | 'signal'> {
  /** System message. Default: none. */
  system?: string;
  /** Messages of an earlier session, without its system message. Default: none. */
  history?: readonly GenerateMessage[];
  /** Default: none. */
  tools?: readonly SessionTool[];
  /** Completions that may call tools, for one message; the next one must not. From 0 to 1,000. Default: 8. */
  maxToolRounds?: number;
}

export interface SendOptions {
  /** Ends the completion and is passed to running tools. */
  signal?: AbortSignal;
  /** Called with each token of each completion. */
  onToken?(token: ReplyToken): void;
}

const MAX_TOOL_ROUNDS = 8;
/** Share of the context. */
const RESERVED_SHARE = 1 / 4;

export class ChatSession {
  /** The system message of the next requests. */
  system: string | undefined;
  readonly #model: Pick<Engine, 'generate' | 'model'>;
  readonly #tools: readonly SessionTool[];
  readonly #maxToolRounds: number;
  readonly #settings: Omit<MessagesRequest, 'messages' | 'tools'>;
  #history: readonly GenerateMessage[];
  #omitted = 0;
  #isRunning = false;

  /** @throws {ChasquiError} `invalid_value` */
  constructor(model: Pick<Engine, 'generate' | 'model'>, options: SessionOptions = {}) {
    const { system, history = [], tools = [], maxToolRounds = MAX_TOOL_ROUNDS, ...settings } = options;
    const idle = tools.findIndex((tool) => typeof tool?.run !== 'function');
    if (idle >= 0) throw invalid(`tools[${idle}].run`, 'must be a function');
    if (!Number.isInteger(maxToolRounds) || maxToolRounds < 0 || maxToolRounds > 1000) {
      throw invalid('maxToolRounds', 'must be a whole number from 0 to 1000');
    }
    this.#model = model;
    this.system = system;
    this.#history = [...history];
    this.#tools = tools;
    this.#maxToolRounds = maxToolRounds;
    this.#settings = settings;
  }

  /** All messages except the system message, tool calls and results included. */
  get history(): readonly GenerateMessage[] {
    return this.#history;
  }

  /** @throws {ChasquiError} `queue_full`: a message is being completed */
  set history(messages: readonly GenerateMessage[]) {
    this.#refuseWhileRunning();
    this.#history = [...messages];
    this.#omitted = 0;
  }

  /** The number of messages at the beginning of `history` that requests leave out, because they exceed the context. */
  get omitted(): number {
    return this.#omitted;
  }

  /**
   * Completes a message of the user, runs the functions that the model calls, and returns the answer. If the conversation
   * exceeds the context, the oldest turns are left out. A message that fails leaves the history unchanged.
   * @throws {ChasquiError} as `generate`; `context_length_exceeded`: this turn alone does not fit; `queue_full`: another
   * message is being completed; or the signal's reason
   */
  async send(content: string | readonly GeneratePart[], options: SendOptions = {}): Promise<Reply> {
    this.#refuseWhileRunning();
    this.#isRunning = true;
    const { history: before, omitted } = this;
    const added: GenerateMessage[] = [{ role: 'user', content }];
    try {
      for (let round = 0; ; round++) {
        const reply = await this.#complete([...before, ...added], round, options);
        const { text, reasoning, toolCalls } = reply;
        const calls = toolCalls.map((call, index) => ({ ...call, id: call.id || `call_${round}_${index}` }));
        const isFinal = reply.finish.reason !== 'tool_calls' || round >= this.#maxToolRounds;
        added.push({
          role: 'assistant',
          content: text,
          ...(reasoning && { reasoning }),
          ...(!isFinal && { toolCalls: calls }),
        });
        if (isFinal) {
          this.#keep([...before, ...added], reply.finish);
          return reply;
        }
        added.push(...(await Promise.all(calls.map((call) => this.#run(call, options.signal)))));
      }
    } catch (error) {
      this.#omitted = omitted;
      throw error;
    } finally {
      this.#isRunning = false;
    }
  }

  #refuseWhileRunning(): void {
    if (!this.#isRunning) return;
    throw new ChasquiError('queue_full', 'This session completes another message: wait for its end.');
  }

  /** Leaves room for the next message and its answer: the end of the context would cut it off. */
  #keep(history: readonly GenerateMessage[], { promptTokens, completionTokens }: ReplyFinish): void {
    this.#history = history;
    const { contextLength } = this.#model.model;
    const used = promptTokens + completionTokens;
    const reserve = Math.max(this.#settings.maxTokens ?? 0, contextLength * RESERVED_SHARE);
    if (used + reserve > contextLength) this.#omit(history.slice(this.#omitted), used);
  }

  /** Returns whether turns were left out: the last one never is. */
  #omit(messages: readonly GenerateMessage[], promptTokens: number): boolean {
    const sizes = messages.map((message) => JSON.stringify(textsOf(message)).length);
    const omitted = firstKept(messages, sizes, { promptTokens, contextLength: this.#model.model.contextLength });
    this.#omitted += omitted;
    return omitted > 0;
  }

  async #complete(messages: readonly GenerateMessage[], round: number, options: SendOptions): Promise<Reply> {
    for (;;) {
      const kept = messages.slice(this.#omitted);
      const system: GenerateMessage[] = this.system === undefined ? [] : [{ role: 'system', content: this.system }];
      const request = { ...this.#settings, ...this.#toolsOf(round), messages: [...system, ...kept] };
      try {
        const stream = this.#model.generate(request, options.signal ? { signal: options.signal } : {});
        if (options.onToken) for await (const token of stream) options.onToken(token);
        return await stream.result();
      } catch (error) {
        const isOverflow = error instanceof ChasquiError && error.code === 'context_length_exceeded';
        if (!isOverflow || !this.#omit(kept, error.promptTokens ?? 1)) throw error;
      }
    }
  }

  /** A choice that demands a call applies to the first completion only. */
  #toolsOf(round: number): Pick<MessagesRequest, 'tools' | 'toolChoice'> {
    if (this.#tools.length === 0) return {};
    const tools = this.#tools.map(({ run: _, ...tool }) => tool);
    const { toolChoice = 'auto' } = this.#settings;
    if (round >= this.#maxToolRounds) return { tools, toolChoice: 'none' };
    return { tools, toolChoice: round === 0 || toolChoice === 'none' ? toolChoice : 'auto' };
  }

  async #run(
    { id, name, arguments: input }: { id: string; name: string; arguments: string },
    signal: AbortSignal | undefined,
  ): Promise<GenerateMessage> {
    let content: string;
    try {
      const tool = this.#tools.find((each) => each.name === name);
      if (tool === undefined) throw new Error(`There is no function \`${name}\`.`);
      const result = await tool.run(input === '' ? {} : JSON.parse(input), { signal });
      content = typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
    } catch (error) {
      signal?.throwIfAborted();
      content = `Error: ${error instanceof Error ? error.message : String(error)}`;
    }
    return { role: 'tool', toolCallId: id, name, content };
  }
}

/** Excludes images: their size does not determine their tokens. */
function textsOf({ content, toolCalls }: GenerateMessage): unknown {
  const texts = Array.isArray(content) ? content.filter(({ type }) => type === 'text') : content;
  return [texts, toolCalls];
}

function invalid(param: string, says: string): ChasquiError {
  return invalidValue(`\`${param}\` ${says}.`, param);
}
