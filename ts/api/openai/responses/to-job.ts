/** Prepares a responses request: the chat body, the completion, and the stored response. */
import type { FastifyRequest } from 'fastify';
import type { AbortOptions, Engine, RenderedPrompt, TokenStream } from '../../../engine/engine.js';
import type { ImageInput } from '../../../engine/job.js';
import { ChasquiError, invalidValue, unsupportedParameter } from '../../../errors.js';
import { MAX_IGNORED_PARTS } from '../../../http/read-fields.js';
import type { McpServers } from '../../../mcp/mcp-servers.js';
import type { SamplingSettings } from '../../../options/sampling-table.js';
import type { AppContext } from '../../context.js';
import type { ChatCompletionRequest } from '../../shared/chat/chat-schema.js';
import { imagesIn } from '../../shared/chat/field-origins.js';
import { type ReadFilesOptions, readFiles } from '../../shared/chat/read-files.js';
import { refusePassedOver, renderChat, renderMessages } from '../../shared/chat/render-chat.js';
import { toRenderOptions } from '../../shared/chat/render-options.js';
import { startCompletion } from '../../shared/chat/to-job.js';
import { readMcpEntries } from '../../shared/mcp/mcp-entries.js';
import { McpOffer } from '../../shared/mcp/mcp-offer.js';
import { OwnFiles } from '../../shared/own-files.js';
import type { Leased } from '../../shared/with-model.js';
import { Conversations } from './conversations.js';
import type { StoredItem } from './input-schema.js';
import { approvedCalls } from './mcp/approvals.js';
import { conversationOf, newResponse } from './new-response.js';
import type { OutputItem, ResponseObject } from './object-schema.js';
import type { OwnResponses } from './own-responses.js';
import { resolveInput, type SourcedItem } from './resolve-input.js';
import { ResponseEvents } from './response-events.js';
import { type ResponseTranslation, toChat } from './response-to-chat.js';
import type { ResponsesRequest } from './schema.js';
import { MAX_STORED_INPUT } from './store/response-store.js';
import { clientNames } from './tool-names.js';
import type { ResponseToolChoice } from './tools-schema.js';
import { truncateInput } from './truncate-input.js';

type Request = FastifyRequest<{ Body: ResponsesRequest }>;

interface Started {
  streams: readonly TokenStream[];
  /** Whether the completion has a format. */
  parsed: boolean;
  /** The paths of fields without effect. */
  ignored: readonly string[];
}

export class ResponseWork {
  /** The items of the request if the response will be stored, else null. */
  readonly input: readonly StoredItem[] | null;
  /** Length of a background request as JSON, including all earlier items, in UTF-16 units; 0 for other requests. */
  readonly length: number;
  /** The tools of MCP servers; null if no servers are configured. */
  readonly offer: McpOffer | null;
  #translation: ResponseTranslation;
  /** The items of the prompt: those of `items`, then output that the response itself continues. */
  #all: readonly SourcedItem[];
  /** The request, with the tool choice of the current completion. */
  #body: ResponsesRequest;
  /** The items that the request continues, then its own. */
  readonly items: readonly SourcedItem[];
  /** The items of the request. */
  readonly #own: readonly StoredItem[];

  /** Runs the checks that do not need the model. Throws `ChasquiError`. */
  constructor(
    readonly request: Request,
    readonly responses: OwnResponses,
    private readonly context: AppContext,
  ) {
    const { body } = request;
    refuseUnsupported(body);
    const { items, own } = resolveInput(body, responses.store);
    if (conversationOf(body) !== null) Conversations.refuseFull(items.map(({ item }) => item));
    this.#own = own;
    this.items = items;
    this.#all = items;
    this.#body = body;
    this.offer = context.mcp && toOffer(body, context.mcp);
    if (this.offer !== null) approvedCalls(items, this.offer);
    this.#translation = this.#toChat(items);
    if (context.options.strict) refusePassedOver(this.#translation.passedOver);
    const asked = body.store !== false && responses.store !== null;
    this.input = asked && JSON.stringify(own).length <= MAX_STORED_INPUT ? own : null;
    this.length = body.background ? JSON.stringify({ ...body, input: items.map(({ item }) => item) }).length : 0;
  }

  get chat(): ChatCompletionRequest {
    return this.#translation.body;
  }

  /** The paths of unsupported tools and items. */
  get passedOver(): readonly string[] {
    return this.#translation.passedOver;
  }

  /** Whether the response may call tools of MCP servers: then it may consist of several completions. */
  usesServers(): this is ResponseWork & { offer: McpOffer } {
    return this.offer !== null && this.offer.entries.length > 0;
  }

  /** Lists the tools of MCP servers for a prompt that is not completed. */
  async listTools(signal: AbortSignal): Promise<void> {
    const { offer } = this;
    if (offer === null) return;
    for (const entry of offer.entries) await offer.list(entry, signal);
    this.#translation = this.#toChat(this.#all);
  }

  /** Prepares a completion after these items of the response. */
  continueWith(output: readonly OutputItem[], choice: 'asked' | 'auto' | 'none'): void {
    const { body } = this.request;
    const made = output.map((item) => ({ item: item as StoredItem, origin: 'output' }));
    this.#all = [...this.items, ...made];
    this.#body = choice === 'asked' ? body : { ...body, tool_choice: choiceAfterCalls(body.tool_choice, choice) };
    this.#translation = this.#toChat(this.#all);
  }

  #toChat(items: readonly SourcedItem[]): ResponseTranslation {
    return toChat(this.#body, items, this.offer);
  }

  /** Runs `work` and translates field names in its errors. */
  guard<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#translation.origins.guard(this.chat, work);
  }

  readonly contentOf = (id: string): Buffer | null => new OwnFiles(this.request, this.context).content(id);

  readonly translate = (thrown: unknown): unknown => this.#translation.origins.translate(thrown, this.chat);

  /** Returns the events of the response, and stores it at its end. */
  eventsFor(model: string, defaults: SamplingSettings = this.context.profile.sampling): ResponseEvents {
    const { body, log } = this.request;
    const ended = (response: ResponseObject): void => {
      try {
        this.#store(response);
      } catch (error) {
        // The completion is finished. A full store must not lose its reply.
        log.error({ err: error }, 'the response could not be stored');
      }
    };
    // Those of MCP servers are listed later.
    const tools = { get: (name: string) => this.#translation.tools.get(name) };
    const response = newResponse(body, model, defaults, this.input !== null);
    return new ResponseEvents(response, { tools, ended });
  }

  #store(response: ResponseObject): void {
    const { input, responses } = this;
    if (input !== null) responses.put({ response, input });
    const { conversation, status } = response;
    if (conversation === null || (status !== 'completed' && status !== 'incomplete')) return;
    responses.conversations.addTurn(conversation.id, [...this.#own, ...(response.output as StoredItem[])]);
  }

  /** `whole` is the prompt of all items. */
  async #truncate(engine: Engine, { images }: RenderedPrompt, how: ReadFilesOptions): Promise<void> {
    const { body } = this.request;
    const loaded = new Map(imagesIn(this.chat.messages).map(({ from }, index) => [from, images[index] as ImageInput]));
    const count = async (items: readonly SourcedItem[]): Promise<number> => {
      const { body: chat } = await readFiles(this.#toChat(items).body, how);
      const shown = imagesIn(chat.messages).map(({ from }) => loaded.get(from) as ImageInput);
      const options = toRenderOptions(chat, engine.model);
      return countUpToContext(engine, await renderMessages(engine, chat.messages, shown, options, how), how);
    };
    const { contextLength } = engine.model;
    const limits = { contextLength, maxTokens: body.max_output_tokens };
    this.#translation = this.#toChat(await truncateInput(this.#all, limits, count));
  }

  /** With truncation, the prompt leaves `room` tokens. */
  async start({ engine, signal }: Leased, room = 1): Promise<Started> {
    const { profile, options } = this.context;
    const { body, record } = this.request;
    const { imageHosts: hosts, strict } = options;
    const how = { contentOf: this.contentOf, hosts, signal, strict, maxParts: MAX_IGNORED_PARTS };
    const whole = await renderChat(engine, this.#translation, how);
    const isTooLong = body.truncation === 'auto' && !(await fits(engine, whole.rendered, room, how));
    if (isTooLong) await this.#truncate(engine, whole.rendered, how);
    const { rendered, ignored } = isTooLong ? await renderChat(engine, this.#translation, how) : whole;
    const streams = startCompletion(engine, profile, this.chat, rendered, { signal, whole: !body.stream });
    record.follow(engine.model.id, streams, { prompt: rendered.prompt });
    return { streams, parsed: rendered.format !== null, ignored };
  }
}

function toOffer({ tools = [] }: ResponsesRequest, servers: McpServers): McpOffer {
  return new McpOffer(
    readMcpEntries(tools, servers),
    tools.flatMap((tool) => clientNames(tool)),
  );
}

/** A forced call has been made. */
function choiceAfterCalls(choice: ResponseToolChoice | undefined, mode: 'auto' | 'none'): ResponseToolChoice {
  if (mode === 'none' || typeof choice !== 'object' || choice.type !== 'allowed_tools') {
    return choice === 'none' ? choice : mode;
  }
  return { ...choice, mode };
}

/** Infinity if the prompt is too long to count its tokens. */
async function countUpToContext(engine: Engine, prompt: RenderedPrompt, on: AbortOptions): Promise<number> {
  try {
    return await engine.countTokens(prompt, on);
  } catch (error) {
    if (error instanceof ChasquiError && error.code === 'context_length_exceeded') return Infinity;
    throw error;
  }
}

async function fits(engine: Engine, prompt: RenderedPrompt, room: number, on: AbortOptions): Promise<boolean> {
  return (await countUpToContext(engine, prompt, on)) + room <= engine.model.contextLength;
}

export function refuseUnsupported(request: ResponsesRequest): void {
  refuse(request, 'prompt', 'this server stores no prompts. Send `instructions` and `input`');
  if (request.conversation !== undefined && request.previous_response_id !== undefined) {
    const message =
      '`conversation` and `previous_response_id` cannot be used together, because both set the earlier items.';
    throw invalidValue(message, 'conversation');
  }
  if (request.background && request.store === false) {
    refuse(request, 'background', 'it requires `store`');
  }
}

function refuse(request: ResponsesRequest, param: keyof ResponsesRequest, reason: string): void {
  if (request[param] === undefined) return;
  throw unsupportedParameter(`\`${param}\` is not supported: ${reason}.`, param);
}
