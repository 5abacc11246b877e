/** The body of a messages request → a chat body that asks for the same. */
import { ChatMessageBuilder, type SourcedPart } from '../chat/chat-message-builder.js';
import { type ChatTranslation, FieldOrigins } from '../chat/field-origins.js';
import type {
  AnthropicMessage,
  AssistantBlock,
  ImageBlock,
  TextBlock,
  UserBlock,
} from '../schemas/anthropic-content.js';
import type { MessagesRequest } from '../schemas/anthropic-request.js';
import type { ChatCompletionRequest } from '../schemas/chat-completion.js';
import { pickExtras } from '../schemas/chat-extras.js';
import { toChatTools } from './tools.js';

export function toChat(request: MessagesRequest): ChatTranslation {
  const origins = new FieldOrigins();
  const body = {
    model: request.model,
    messages: toMessages(request, origins),
    ...toChatTools(request, origins),
    ...toSettings(request, origins),
  } as ChatCompletionRequest;
  return { body, origins };
}

function toMessages({ system, messages }: MessagesRequest, origins: FieldOrigins) {
  const builder = new ChatMessageBuilder(origins);
  origins.set('messages', 'messages');
  if (system !== undefined) addSystem(builder, system, 'system');
  for (const [index, message] of messages.entries()) addMessage(builder, message, `messages[${index}]`);
  return builder.build('messages');
}

/**
 * Claude Code's instructions begin with a line for the accounts of Anthropic; it is new each time, which would defeat
 * the cache.
 */
const BILLING_LINE = /^x-anthropic-billing-header:/;

function addSystem(builder: ChatMessageBuilder, system: string | readonly TextBlock[], origin: string): void {
  if (typeof system === 'string') {
    builder.addInstructions('system', system, origin);
    return;
  }
  const parts = system.map((block, index) => toPart(block, `${origin}[${index}]`));
  const meant = parts.filter((_, index) => !BILLING_LINE.test(system[index]?.text ?? ''));
  if (meant.length > 0) builder.addInstructions('system', meant, origin);
}

function addMessage(builder: ChatMessageBuilder, message: AnthropicMessage, origin: string): void {
  const content = `${origin}.content`;
  if (message.role === 'system') {
    addSystem(builder, message.content, content);
  } else if (message.role === 'user') {
    if (typeof message.content === 'string') builder.addUser(message.content, content);
    else addUserBlocks(builder, message.content, content);
  } else {
    if (typeof message.content === 'string') builder.addAssistantText(message.content, content);
    else addAssistantBlocks(builder, message.content, content);
  }
}

/** Results of tools are messages of their own; they come first, as Anthropic demands them to. */
function addUserBlocks(builder: ChatMessageBuilder, blocks: readonly UserBlock[], origin: string): void {
  const shown: SourcedPart[] = [];
  blocks.forEach((block, index) => {
    const own = `${origin}[${index}]`;
    if (block.type !== 'tool_result') {
      shown.push(toPart(block, own));
      return;
    }
    const content = block.content ?? '';
    const parts =
      typeof content === 'string' ? content : content.map((part, at) => toPart(part, `${own}.content[${at}]`));
    builder.addToolResult(block.tool_use_id, parts, own);
  });
  if (shown.length > 0 || blocks.length === 0) builder.addUser(shown, origin);
}

function addAssistantBlocks(builder: ChatMessageBuilder, blocks: readonly AssistantBlock[], origin: string): void {
  let texts: SourcedPart[] = [];
  const addTexts = (): void => {
    if (texts.length > 0) builder.addAssistantText(texts, origin);
    texts = [];
  };
  blocks.forEach((block, index) => {
    const own = `${origin}[${index}]`;
    if (block.type === 'text') {
      texts.push(toPart(block, own));
      return;
    }
    addTexts();
    if (block.type === 'thinking') builder.addReasoning(block.thinking, own);
    else if (block.type === 'tool_use') {
      builder.addToolCall({ id: block.id, name: block.name, arguments: JSON.stringify(block.input) }, own);
    }
  });
  addTexts();
}

function toPart(block: TextBlock | ImageBlock, origin: string): SourcedPart {
  if (block.type === 'text') return { part: { type: 'text', text: block.text }, origin };
  const { source } = block;
  const url = source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
  return { part: { type: 'image_url', image_url: { url } }, origin, imageOrigin: `${origin}.source` };
}

function toSettings(request: MessagesRequest, origins: FieldOrigins): Record<string, unknown> {
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
  }
  origins.set('chat_template_kwargs', 'thinking');
  return settings;
}
