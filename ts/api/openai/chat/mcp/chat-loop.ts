/** Alternates chat completions and their calls of MCP servers. The client gets the final answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError, unsupportedParameter } from '../../../../errors.js';
import { MAX_IGNORED_PARTS, nameIgnoredParts } from '../../../../http/read-fields.js';
import type { AppContext } from '../../../context.js';
import type { SentChatCompletion } from '../../../shared/chat/chat-schema.js';
import { refusePassedOver, renderChat } from '../../../shared/chat/render-chat.js';
import { startCompletion } from '../../../shared/chat/to-job.js';
import type { ChatCompletion } from '../../../shared/completion/chat-reply-schema.js';
import type { CompletionDelta } from '../../../shared/completion/completion-reader.js';
import { addUsage, type CompletionHead, newCompletionHead } from '../../../shared/completion/reply-fields.js';
import { McpCalls } from '../../../shared/mcp/mcp-calls.js';
import { readMcpEntries } from '../../../shared/mcp/mcp-entries.js';
import { McpOffer } from '../../../shared/mcp/mcp-offer.js';
import { OwnFiles } from '../../../shared/own-files.js';
import { functionsFor } from '../../../shared/tools/functions-for.js';
import type { Leased } from '../../../shared/with-model.js';
import { toCompletion } from '../reply.js';

type Request = FastifyRequest<{ Body: SentChatCompletion }>;
type Message = ChatCompletion['choices'][number]['message'];
type ToolCall = NonNullable<Message['tool_calls']>[number];
type SentTools = NonNullable<SentChatCompletion['tools']>;

export class ChatLoop {
  readonly head: CompletionHead;
  readonly #offer: McpOffer;
  readonly #calls: McpCalls;
  /** The tools of the chat body, and their paths in the request. */
  #tools: SentTools = [];
  #paths: string[] = [];
  #messages: SentChatCompletion['messages'];

  /** @throws {ChasquiError} the request cannot be obeyed */
  constructor(
    private readonly request: Request,
    private readonly leased: Leased,
    private readonly context: AppContext,
  ) {
    const { tools = [], n = 1, prompt_logprobs: promptLogprobs, messages } = request.body;
    if (n > 1) {
      throw unsupportedParameter('`n` must be 1 with tools of MCP servers.', 'n');
    }
    if (typeof promptLogprobs === 'number') {
      throw unsupportedParameter('`prompt_logprobs` is not available with tools of MCP servers.', 'prompt_logprobs');
    }
    const entries = context.mcp === null ? [] : readMcpEntries(tools, context.mcp);
    for (const [index, tool] of tools.entries()) {
      if (tool.type !== 'mcp' || (tool.require_approval ?? 'never') === 'never') continue;
      const field = `tools[${index}].require_approval`;
      throw unsupportedParameter(`\`${field}\` must be "never": only \`/v1/responses\` can ask for approval.`, field);
    }
    this.head = newCompletionHead(leased.engine.model.id);
    this.#offer = new McpOffer(entries, tools.flatMap(nameOf));
    this.#calls = new McpCalls(this.#offer, leased.signal);
    this.#messages = messages;
  }

  /** Lists the tools, and names those of servers that fail in the header. */
  async prepare(reply: FastifyReply): Promise<void> {
    const { strict } = this.context.options;
    const failed: string[] = [];
    for (const entry of this.#offer.entries) {
      const { error } = await this.#offer.list(entry, this.leased.signal);
      if (error !== null) failed.push(entry.origin);
    }
    if (strict) refusePassedOver(failed);
    nameIgnoredParts(reply, failed);
    const { tools: sent = [] } = this.request.body;
    for (const [index, tool] of sent.entries()) {
      if (tool.type === 'mcp') continue;
      this.#tools.push(tool);
      this.#paths.push(`tools[${index}]`);
    }
    for (const { name, entry, tool } of this.#offer.tools) {
      const { description, inputSchema: parameters } = tool;
      this.#tools.push({ type: 'function', function: { name, description, parameters } });
      this.#paths.push(entry.origin);
    }
  }

  /** `onDeltas` gets text and reasoning of all completions. */
  async run(onDeltas?: (deltas: readonly CompletionDelta[]) => void | Promise<void>): Promise<ChatCompletion> {
    let usage: ChatCompletion['usage'] | null = null;
    const { tool_choice: asked } = this.request.body;
    for (let choice = asked; ; choice = this.#calls.isOpen ? choiceAfterCalls(asked) : 'none') {
      const completion = await this.#complete(choice, onDeltas);
      usage = usage === null ? completion.usage : addUsage(usage, completion.usage);
      const [first] = completion.choices;
      if (first === undefined) return { ...completion, usage };
      const { tool_calls: calls = [] } = first.message;
      const own = calls.filter((call) => this.#offer.byName(calledName(call)) !== null);
      const goesOn = own.length > 0 && own.length === calls.length && choice !== 'none';
      if (!goesOn || first.finish_reason !== 'tool_calls') {
        return { ...completion, usage, choices: [withoutCalls(first, own)] };
      }
      await this.#runCalls(first.message, own);
    }
  }

  async #complete(
    choice: SentChatCompletion['tool_choice'],
    onDeltas: ((deltas: readonly CompletionDelta[]) => void | Promise<void>) | undefined,
  ): Promise<ChatCompletion> {
    const { request, context } = this;
    const { engine, signal } = this.leased;
    const { tools: _tools, tool_choice: _choice, ...rest } = request.body;
    const chat = functionsFor({
      ...rest,
      messages: this.#messages,
      ...(this.#tools.length > 0 && { tools: this.#tools }),
      ...(choice !== undefined && { tool_choice: choice }),
    });
    try {
      const { imageHosts: hosts, strict } = context.options;
      const contentOf = (id: string) => new OwnFiles(request, context).content(id);
      const how = { contentOf, hosts, signal, strict, maxParts: MAX_IGNORED_PARTS };
      const { rendered } = await renderChat(engine, chat, how);
      const streams = startCompletion(engine, context.profile, chat.body, rendered, { signal, whole: !rest.stream });
      request.record.follow(engine.model.id, streams, { prompt: rendered.prompt });
      const parsed = rendered.format !== null;
      const { logprobs, timings } = chat.body;
      return await toCompletion(this.head, streams, {
        parsed,
        logprobs,
        timings,
        customTools: chat.customTools,
        onDeltas,
      });
    } catch (thrown) {
      throw this.#withPath(chat.origins.translate(thrown, chat.body));
    }
  }

  async #runCalls({ content, reasoning_content }: Message, calls: readonly ToolCall[]): Promise<void> {
    const results = await Promise.all(
      calls.map(async (call) => {
        const json = call.function?.arguments ?? '';
        const { output, error } = await this.#calls.run(this.#offer.byName(calledName(call)), json);
        return { role: 'tool' as const, tool_call_id: call.id, content: output ?? `The call failed: ${error}` };
      }),
    );
    const made = {
      role: 'assistant' as const,
      content,
      tool_calls: [...calls],
      ...(reasoning_content && { reasoning_content }),
    };
    this.#messages = [...this.#messages, made, ...results] as SentChatCompletion['messages'];
  }

  #withPath(thrown: unknown): unknown {
    if (!(thrown instanceof ChasquiError) || thrown.param === null) return thrown;
    const [field, index] = /^tools\[(\d+)\]/.exec(thrown.param) ?? [];
    const path = this.#paths[Number(index)];
    if (field === undefined || path === undefined) return thrown;
    return thrown.withMessage(thrown.message.replaceAll(field, path), thrown.param.replace(field, path));
  }
}

function nameOf(tool: SentTools[number]): string[] {
  if (tool.type === 'mcp') return [];
  return [tool.type === 'custom' ? tool.custom.name : tool.function.name];
}

function calledName(call: ToolCall): string {
  return call.function?.name ?? call.custom?.name ?? '';
}

/** A forced call has been made. */
function choiceAfterCalls(asked: SentChatCompletion['tool_choice']): SentChatCompletion['tool_choice'] {
  if (typeof asked !== 'object' || asked.type !== 'allowed_tools') return asked === 'none' ? asked : 'auto';
  return { ...asked, allowed_tools: { ...asked.allowed_tools, mode: 'auto' } };
}

/** Clients cannot run calls of MCP servers. */
function withoutCalls(choice: ChatCompletion['choices'][number], own: readonly ToolCall[]) {
  if (own.length === 0) return choice;
  const { tool_calls: calls = [], ...message } = choice.message;
  const others = calls.filter((call) => !own.includes(call));
  if (others.length > 0) return { ...choice, message: { ...message, tool_calls: others } };
  const content = message.content ?? '';
  return { ...choice, message: { ...message, content }, finish_reason: 'stop' as const };
}
