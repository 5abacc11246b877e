/** Converts the body of a messages request to an equivalent chat body. */
import { ChatMessageBuilder, type SourcedContent, type SourcedPart } from '../../shared/chat/chat-message-builder.js';
import type { ChatCompletionRequest } from '../../shared/chat/chat-schema.js';
import { pickExtras } from '../../shared/chat/extras-schema.js';
import { type ChatTranslation, FieldOrigins } from '../../shared/chat/field-origins.js';
import { readConstraints } from '../../shared/chat/output-constraints.js';
import { textPart, toParts } from './content-parts.js';
import type { MessagesRequest } from './schema.js';
import {
  type AnthropicMessage,
  type AssistantBlock,
  isHosted,
  type TextBlock,
  type ToolResultBlock,
  type UserBlock,
} from './schema.js';
import { toChatTools } from './tools.js';

/** A chat body, and the parts of the request that have no equivalent in it. */
export interface MessagesTranslation extends ChatTranslation {
  /** The paths of parts that are hints, or that only Anthropic's own servers can run or read. */
  ignored: string[];
}

/** The first `earlier` messages are those of a thread, not of the client's request. */
export function toChat(request: MessagesRequest, earlier = 0): MessagesTranslation {
  const origins = new FieldOrigins();
  const ignored: string[] = [];
  const body = {
    model: request.model,
    messages: new Conversation(origins, ignored).read(request, earlier),
    ...toChatTools(request, origins, ignored),
    ...toSettings(request, origins, ignored),
    // A reply continues the last message of the assistant without repeating it.
    echo: false,
  } as ChatCompletionRequest;
  return { body, origins, ignored };
}

/**
 * Claude Code's instructions begin with a line for the accounts of Anthropic; it is new each time, which would defeat
 * the cache.
 */
const BILLING_LINE = /^x-anthropic-billing-header:/;

class Conversation {
  readonly #builder: ChatMessageBuilder;

  constructor(
    private readonly origins: FieldOrigins,
    private readonly ignored: string[],
  ) {
    this.#builder = new ChatMessageBuilder(origins);
  }

  read({ system, messages }: MessagesRequest, earlier: number): ChatCompletionRequest['messages'] {
    this.origins.set('messages', 'messages');
    if (system !== undefined) this.#addSystem(system, 'system');
    for (const [index, message] of messages.entries()) {
      this.#addMessage(message, index < earlier ? 'thread' : `messages[${index - earlier}]`);
    }
    return this.#builder.build('messages');
  }

  #addSystem(system: string | readonly TextBlock[], origin: string): void {
    if (typeof system === 'string') {
      this.#builder.addInstructions('system', system, origin);
      return;
    }
    const parts = system.map(({ text }, index) => textPart(text, `${origin}[${index}]`));
    const meant = parts.filter((_, index) => !BILLING_LINE.test(system[index]?.text ?? ''));
    if (meant.length > 0) this.#builder.addInstructions('system', meant, origin);
  }

  #addMessage(message: AnthropicMessage, origin: string): void {
    const content = `${origin}.content`;
    if (message.role === 'system') {
      this.#addSystem(message.content, content);
    } else if (message.role === 'user') {
      if (typeof message.content === 'string') this.#builder.addUser(message.content, content);
      else this.#addUserBlocks(message.content, content);
    } else {
      if (typeof message.content === 'string') this.#builder.addAssistantText(message.content, content);
      else this.#addAssistantBlocks(message.content, content);
    }
  }

  /** Results of tools are messages of their own; they come first, as Anthropic demands them to. */
  #addUserBlocks(blocks: readonly UserBlock[], origin: string): void {
    const shown: SourcedPart[] = [];
    blocks.forEach((block, index) => {
      const own = `${origin}[${index}]`;
      if (isHosted(block)) this.ignored.push(own);
      else if (block.type !== 'tool_result') shown.push(...toParts(block, own));
      else this.#builder.addToolResult(block.tool_use_id, toResult(block, own), own);
    });
    if (shown.length > 0 || blocks.length === 0) this.#builder.addUser(shown, origin);
  }

  #addAssistantBlocks(blocks: readonly AssistantBlock[], origin: string): void {
    let texts: SourcedPart[] = [];
    const addTexts = (): void => {
      if (texts.length > 0) this.#builder.addAssistantText(texts, origin);
      texts = [];
    };
    blocks.forEach((block, index) => {
      const own = `${origin}[${index}]`;
      switch (block.type) {
        case 'text':
          texts.push(textPart(block.text, own));
          break;
        case 'compaction':
          if (block.content) texts.push(textPart(block.content, own));
          break;
        case 'thinking':
          addTexts();
          this.#builder.addReasoning(block.thinking, own);
          break;
        case 'tool_use':
          addTexts();
          this.#builder.addToolCall({ id: block.id, name: block.name, arguments: JSON.stringify(block.input) }, own);
          break;
        default:
          this.ignored.push(own);
      }
    });
    addTexts();
  }
}

function toResult({ content, is_error: failed }: ToolResultBlock, origin: string): SourcedContent {
  if (content == null || content.length === 0) return failed ? FAILURE : '';
  if (typeof content === 'string') return failed ? tellFailure(content) : content;
  const parts = content.flatMap((part, at) => toParts(part, `${origin}.content[${at}]`));
  const [first] = parts;
  if (!failed || first === undefined) return parts;
  if (first.part.type !== 'text') return [textPart(FAILURE, origin), ...parts];
  return [textPart(tellFailure(first.part.text), first.origin), ...parts.slice(1)];
}

const FAILURE = 'Error';

/** A chat message has no field for a failure: it is told in the text, unless that begins by saying so. */
function tellFailure(text: string): string {
  return /^\W*\w*error/i.test(text) ? text : `${FAILURE}: ${text}`;
}

function toSettings(request: MessagesRequest, origins: FieldOrigins, ignored: string[]): Record<string, unknown> {
  const settings: Record<string, unknown> = pickExtras(request);
  if (request.max_tokens !== undefined) settings.max_completion_tokens = request.max_tokens;
  origins.set('max_completion_tokens', 'max_tokens');
  if (request.temperature !== undefined) settings.temperature = request.temperature;
  if (request.top_p !== undefined) settings.top_p = request.top_p;
  if (request.stop_sequences !== undefined) settings.stop = request.stop_sequences;
  origins.set('stop', 'stop_sequences');
  const { effort, format } = request.output_config ?? {};
  // The chat protocol's scale ends one step earlier.
  if (effort) settings.reasoning_effort = effort === 'max' ? 'xhigh' : effort;
  origins.set('reasoning_effort', 'output_config.effort');
  if (format) {
    const json_schema = { name: 'output', schema: format.schema, strict: true };
    settings.response_format = { type: format.type, json_schema };
  }
  origins.set('response_format', 'output_config.format');
  origins.set('response_format.json_schema', 'output_config.format');
  if (request.thinking) {
    const enable_thinking = request.thinking.type !== 'disabled';
    settings.chat_template_kwargs = { enable_thinking, ...request.chat_template_kwargs };
    const { budget_tokens: budget } = request.thinking;
    if (budget != null && enable_thinking) {
      if (settings.reasoning_budget_tokens === undefined)
        origins.set('reasoning_budget_tokens', 'thinking.budget_tokens');
      settings.reasoning_budget_tokens ??= budget;
    }
    if (request.thinking.display === 'omitted') ignored.push('thinking.display');
  }
  if (changesContext(request)) ignored.push('context_management');
  origins.set('chat_template_kwargs', 'thinking');
  return readConstraints(settings, origins);
}

/** Whether Anthropic's servers would leave out anything of the conversation. */
function changesContext({ context_management: management }: MessagesRequest): boolean {
  const edits = management?.edits ?? [];
  return edits.some(({ keep }) => keep !== 'all');
}
