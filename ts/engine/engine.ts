/** The interface of an engine to the rest of the TypeScript code. It computes in this process or in separate ones. */
import type { ChasquiError } from '../errors.js';
import type { ImageHosts } from '../images/public-address.js';
import { LOAD_OPTIONS } from '../options/load-option-table.js';
import type { AdapterUse } from './adapter-file.js';
import type { CallInput, CallName, CallResult } from './calls.js';
import type { RenderDefaults } from './chat-template.js';
import { toEmbedInputs, toImagePrompt } from './check-inputs.js';
import { embed, rank } from './embed.js';
import { refuseMedia } from './engine-errors.js';
import type {
  AbortOptions,
  ChatMessage,
  ChatToolCall,
  CountedPrompt,
  Embeddings,
  EmbedInput,
  EngineProcesses,
  EngineState,
  EngineStats,
  ModelInfo,
  Ranking,
  RenderedPrompt,
  RenderOptions,
  SubmitOptions,
  TokenStream,
} from './engine-types.js';
import { type GenerateRequest, generate } from './generate.js';
import { type ImageInput, type Job, kindOf, replaceLoneSurrogates } from './job.js';
import { areChatMessages, checkMessages, type GenerateMessage, loadChatImages, mediaIn } from './load-chat-images.js';
import type { LoadOptions } from './load-options.js';
import { shareImages } from './prepared-prompts.js';
import type { ReplyStream } from './reply-stream.js';

export type * from './engine-types.js';

const dropped = new FinalizationRegistry<() => Promise<unknown>>((close) => close().catch(() => {}));

/** Calls `close`, which must not refer to `engine`, once `engine` was garbage-collected. */
export function closeWhenDropped(engine: Engine, close: () => Promise<unknown>): void {
  dropped.register(engine, close);
}

/**
 * Implementations provide `call` and `submit`; the methods for callers are written once, here. Calls that render, tokenize
 * or compile reject with `prepare_timeout` when they take too long, and with `queue_full` when too many are waiting.
 */
export abstract class Engine {
  /** From the load options; requests override the variables of the template. */
  readonly renderDefaults: RenderDefaults;

  /** Hosts that may serve images of messages. */
  readonly #imageHosts: ImageHosts;

  constructor(
    renderDefaults: RenderDefaults = {},
    { imageHosts = LOAD_OPTIONS.imageHosts.default }: Pick<LoadOptions, 'imageHosts'> = {},
  ) {
    this.renderDefaults = renderDefaults;
    this.#imageHosts = imageHosts;
  }

  abstract readonly model: ModelInfo;
  abstract readonly state: EngineState;

  /** Absent if the engine computes in this process. */
  get processes(): EngineProcesses | undefined {
    return undefined;
  }

  /** Runs one call of the table in `calls.ts`. */
  abstract call<M extends CallName>(method: M, args: CallInput<M>, on?: AbortOptions): Promise<CallResult<M>>;

  /**
   * Starts a job. Never throws: errors (`context_length_exceeded`, `invalid_job`, `queue_full`, `engine_closed` ...) reject
   * the stream's first `next()`, as does a promise of a job that rejects.
   */
  abstract submit(job: Job | Promise<Job>, options?: SubmitOptions): TokenStream;

  /** Sets the adapters of jobs that name none. */
  abstract useAdapters(adapters: readonly AdapterUse[]): void;

  /**
   * Cancels all work and frees everything. Streams and calls reject with `reason`, by default `engine_closed`. Idempotent,
   * and safe in every state.
   */
  abstract close(reason?: ChasquiError): Promise<void>;

  /** For `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Generates from `prompt`, used verbatim, or from `messages` through the model's chat template. Never throws: the stream
   * rejects with a `ChasquiError` that names the field, or with the signal's reason.
   */
  generate(request: GenerateRequest, options: AbortOptions = {}): ReplyStream {
    return generate(this, request, options);
  }

  /**
   * Applies the model's chat template; a trailing assistant message is continued. Rejects with `template_failed` if the
   * template refuses the conversation, with `image_not_supported` if the model takes no images, with `invalid_grammar` if a
   * schema cannot be enforced, with `unsupported_parameter` if a tool call is required that the template cannot express.
   * Messages may have the forms that `generate` takes.
   */
  async render(
    given: readonly GenerateMessage[],
    options: RenderOptions = {},
    on?: AbortOptions,
  ): Promise<RenderedPrompt> {
    return this.renderChat(areChatMessages(given) ? given : await this.#toChatMessages(given, on), options, on);
  }

  /** The same for messages that need no check, with decoded images. */
  async renderChat(
    messages: readonly ChatMessage[],
    options: RenderOptions = {},
    on?: AbortOptions,
  ): Promise<RenderedPrompt> {
    const templateKwargs = { ...this.renderDefaults.templateKwargs, ...options.templateKwargs };
    let images: ImageInput[] = [];
    const rendered = await this.call(
      'render',
      (model) => {
        images = [];
        const request = toRenderRequest(
          messages,
          { ...this.renderDefaults, ...options, templateKwargs },
          model.imageMarker ?? '',
          images,
        );
        if (images.length > 0) refuseMedia(model, images.map(kindOf));
        return [request] as [string];
      },
      on,
    );
    return { ...rendered, images: images.length === 0 ? images : shareImages(images) };
  }

  async #toChatMessages(given: readonly GenerateMessage[], on?: AbortOptions): Promise<ChatMessage[]> {
    checkMessages(given);
    refuseMedia(this.model, mediaIn(given));
    return loadChatImages(given, { hosts: this.#imageHosts, ...on });
  }

  /** The number of tokens of a text or prompt, its images included. Rejects if an image cannot be read. */
  async countTokens(given: string | CountedPrompt, on?: AbortOptions): Promise<number> {
    const { prompt, images } = toImagePrompt(given);
    if (images.length === 0) return (await this.call('tokenize', [prompt, true, true], on)).length;
    return (await this.call('tokenizePrompt', [prompt, images], on)).tokens.length;
  }

  tokenize(
    text: string,
    {
      addSpecial = false,
      parseSpecial = false,
      ...on
    }: { addSpecial?: boolean; parseSpecial?: boolean } & AbortOptions = {},
  ): Promise<Int32Array> {
    return this.call('tokenize', [text, addSpecial, parseSpecial], on);
  }

  /** Returns a prompt; its completion fills the gap between two texts. Rejects with `model_not_capable`. */
  tokenizeInfill(prefix: string, suffix: string, on?: AbortOptions): Promise<Int32Array> {
    return this.call('tokenizeInfill', [prefix, suffix], on);
  }

  /** The paths of the parts of a JSON schema that no grammar enforces, each below `path`. Rejects with `invalid_grammar`. */
  unenforcedParts(schema: object, path: string, on?: AbortOptions): Promise<string[]> {
    return this.call('unenforcedParts', [replaceLoneSurrogates(JSON.stringify(schema)), path], on);
  }

  /** The bytes of each token; control tokens are spelled by their names. Rejects with `invalid_job`. */
  async pieces(tokens: readonly number[], on?: AbortOptions): Promise<Uint8Array[]> {
    const { bytes, ends } = await this.call('pieces', [Int32Array.from(tokens)], on);
    return Array.from(ends, (end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
  }

  /**
   * One vector for each input; a text is one input. Short texts of concurrent calls are computed together. Rejects with
   * `model_not_capable`, and with `context_length_exceeded` or `invalid_value` naming `input[i]`.
   */
  async embed(inputs: string | readonly EmbedInput[], on?: AbortOptions): Promise<Embeddings> {
    return embed(this, this.model, toEmbedInputs(inputs), on);
  }

  /** The relevance of each document to the query. Rejects as `embed` does, naming `documents[i]` or `query`. */
  rank(query: string, documents: readonly string[], on?: AbortOptions): Promise<Ranking> {
    return rank(this, this.model, query, documents, on);
  }

  stats(): Promise<EngineStats> {
    return this.call('stats', []);
  }
}

/** A conversation as JSON for `native/llama/chat/chat-template.h`. Replaces each image by `marker`, and adds it to `images`. */
export function toRenderRequest(
  messages: readonly ChatMessage[],
  options: RenderOptions,
  marker: string,
  images: ImageInput[],
): string {
  const { tools, toolChoice, parallelToolCalls, jsonSchema, continueFinalMessage, specialTokens, templateKwargs } =
    options;
  return replaceLoneSurrogates(
    JSON.stringify({
      messages: messages.map((message) => toWireMessage(message, joinParts(message.content, marker, images))),
      tools: tools?.map((tool) => ({ type: 'function', function: tool })),
      tool_choice: toolChoice,
      parallel_tool_calls: parallelToolCalls,
      json_schema: jsonSchema,
      continue_final_message: continueFinalMessage,
      special_tokens_in_messages: specialTokens,
      chat_template_kwargs: templateKwargs,
    }),
  );
}

function toWireMessage({ role, name, reasoning, toolCalls, toolCallId }: ChatMessage, content: string): object {
  return {
    role,
    content,
    name,
    reasoning_content: reasoning,
    tool_calls: toolCalls?.map(toWireCall),
    tool_call_id: toolCallId,
  };
}

function toWireCall({ id, ...call }: ChatToolCall): object {
  // Native code parses the arguments, which are JSON themselves.
  return { id, type: 'function', function: { ...call, arguments: replaceLoneSurrogates(call.arguments) } };
}

/** Joins parts as llama.cpp's server does: texts with a line break between them, images without, because a marker is a paragraph. */
export function joinParts(content: ChatMessage['content'], marker: string, images: ImageInput[]): string {
  if (typeof content === 'string') return content;
  let text = '';
  let afterImage = false;
  for (const part of content) {
    if (part.type === 'image') {
      images.push(part.image);
      text += marker;
    } else {
      text += afterImage || text === '' ? part.text : `\n${part.text}`;
    }
    afterImage = part.type === 'image';
  }
  return text;
}
