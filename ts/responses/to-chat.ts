/** The body of a responses request → a chat body that asks for the same. */
import { ChatMessageBuilder, type SourcedPart } from '../chat/chat-message-builder.js';
import { type ChatTranslation, FieldOrigins } from '../chat/field-origins.js';
import type { ChatCompletionRequest } from '../schemas/chat-completion.js';
import { pickExtras } from '../schemas/chat-extras.js';
import type { InputItem, InputPart } from '../schemas/response-input.js';
import type { ResponsesRequest } from '../schemas/responses.js';
import { toChatTools } from './tools.js';

export function toChat(request: ResponsesRequest): ChatTranslation {
  const origins = new FieldOrigins();
  const body = {
    model: request.model,
    messages: toMessages(request, origins),
    ...toChatTools(request, origins),
    ...toSettings(request, origins),
  } as ChatCompletionRequest;
  return { body, origins };
}

function toMessages(request: ResponsesRequest, origins: FieldOrigins) {
  const builder = new ChatMessageBuilder(origins);
  origins.set('messages', 'input');
  if (request.instructions !== undefined) builder.addInstructions('system', request.instructions, 'instructions');
  if (typeof request.input === 'string') builder.addUser(request.input, 'input');
  else for (const [index, item] of request.input.entries()) addItem(builder, item, `input[${index}]`);
  return builder.build('input');
}

function addItem(builder: ChatMessageBuilder, item: InputItem, origin: string): void {
  switch (item.type) {
    case 'message': {
      const content = toContent(item.content, `${origin}.content`);
      if (item.role === 'user') builder.addUser(content, origin);
      else if (item.role === 'assistant') builder.addAssistantText(content, origin);
      else builder.addInstructions(item.role, content, origin);
      break;
    }
    case 'reasoning': {
      const text = (item.content ?? []).map((part) => part.text).join('\n');
      if (text !== '') builder.addReasoning(text, origin);
      break;
    }
    case 'function_call':
      builder.addToolCall({ id: item.call_id, name: item.name, arguments: item.arguments }, origin);
      break;
    case 'function_call_output':
      builder.addToolResult(item.call_id, toContent(item.output, `${origin}.output`), origin);
  }
}

function toContent(content: string | readonly InputPart[], origin: string): string | SourcedPart[] {
  if (typeof content === 'string') return content;
  return content.map((part, index) => toPart(part, `${origin}[${index}]`));
}

function toPart(part: InputPart, origin: string): SourcedPart {
  if (part.type === 'refusal') return { part: { type: 'text', text: part.refusal }, origin };
  if (part.type !== 'input_image') return { part: { type: 'text', text: part.text }, origin };
  const image_url = { url: part.image_url };
  return { part: { type: 'image_url', image_url }, origin, imageOrigin: `${origin}.image_url` };
}

/** The reply holds log-probabilities when `include` names them or `top_logprobs` asks for alternatives. */
export const INCLUDES_LOGPROBS = 'message.output_text.logprobs';

function toSettings(request: ResponsesRequest, origins: FieldOrigins): Record<string, unknown> {
  const settings: Record<string, unknown> = pickExtras(request);
  if (request.temperature !== undefined) settings.temperature = request.temperature;
  if (request.top_p !== undefined) settings.top_p = request.top_p;
  if (request.max_output_tokens !== undefined) settings.max_completion_tokens = request.max_output_tokens;
  origins.set('max_completion_tokens', 'max_output_tokens');
  if (request.reasoning?.effort) settings.reasoning_effort = request.reasoning.effort;
  origins.set('reasoning_effort', 'reasoning.effort');
  if (request.include?.includes(INCLUDES_LOGPROBS) || request.top_logprobs) {
    settings.logprobs = true;
    settings.top_logprobs = request.top_logprobs ?? 0;
  }
  const format = toResponseFormat(request, origins);
  if (format) settings.response_format = format;
  return settings;
}

function toResponseFormat({ text }: ResponsesRequest, origins: FieldOrigins): object | null {
  const format = text?.format;
  origins.set('response_format', 'text.format');
  origins.set('response_format.json_schema', 'text.format');
  if (format?.type !== 'json_schema') return format ?? null;
  const { type, ...json_schema } = format;
  return { type, json_schema };
}
