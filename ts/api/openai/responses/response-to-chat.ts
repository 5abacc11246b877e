/** Converts the body of a responses request to an equivalent chat body. */
import { ChasquiError } from '../../../errors.js';
import { ChatMessageBuilder, type PastCall, type SourcedPart } from '../../shared/chat/chat-message-builder.js';
import type { ChatCompletionRequest } from '../../shared/chat/chat-schema.js';
import { pickExtras } from '../../shared/chat/extras-schema.js';
import { type ChatTranslation, FieldOrigins } from '../../shared/chat/field-origins.js';
import type { ImagePart } from '../../shared/chat/message-schema.js';
import { readConstraints } from '../../shared/chat/output-constraints.js';
import type { McpOffer } from '../../shared/mcp/mcp-offer.js';
import { toArguments } from '../../shared/tools/custom-tools.js';
import { shownSummary } from './compaction-item.js';
import type { ClientCall, ClientCallOutput, InputItem, InputPart } from './input-schema.js';
import { approvalRequestsIn } from './mcp/approvals.js';
import { addMcpCall, addRefusedCall } from './mcp/mcp-messages.js';
import { resolveInput, type SourcedItem } from './resolve-input.js';
import { type ToolTranslation, toChatTools } from './response-tools.js';
import { INCLUDED, INCLUDES_LOGPROBS, type ResponsesRequest } from './schema.js';
import { nameInChat } from './tool-names.js';

/** An equivalent chat body, and the parts of the request that have no effect. */
export interface ResponseTranslation extends Omit<ToolTranslation, 'fields'>, ChatTranslation {}

/** `items` includes the items that the request continues; `offer` has the tools of MCP servers, if some are configured. */
export function toChat(
  request: ResponsesRequest,
  items: readonly SourcedItem[] = resolveInput(request, null).items,
  offer: McpOffer | null = null,
): ResponseTranslation {
  const origins = new FieldOrigins();
  const { fields, tools, inputGrammars, passedOver } = toChatTools(request, origins, offer);
  const body = {
    model: request.model,
    messages: toMessages(request, items, origins, offer),
    ...fields,
    ...toSettings(request, origins),
  } as ChatCompletionRequest;
  return {
    body,
    origins,
    tools,
    inputGrammars,
    passedOver: [...passedOver, ...hostedItems(items, offer), ...notIncluded(request)],
  };
}

/** The paths of values in `include` that are not supported. */
function notIncluded({ include = [] }: ResponsesRequest): string[] {
  return include.flatMap((value, index) => (INCLUDED.some((each) => each === value) ? [] : `include[${index}]`));
}

/** The paths of items that only OpenAI's servers can decrypt. */
function hostedItems(items: readonly SourcedItem[], offer: McpOffer | null): string[] {
  const ofServers = offer === null ? null : MCP_ITEMS;
  return [
    ...new Set(items.filter(({ item }) => isHosted(item) && !ofServers?.test(item.type)).map(({ origin }) => origin)),
  ];
}

function toMessages(
  request: ResponsesRequest,
  items: readonly SourcedItem[],
  origins: FieldOrigins,
  offer: McpOffer | null,
) {
  const builder = new ChatMessageBuilder(origins);
  origins.set('messages', 'input');
  if (request.instructions !== undefined) builder.addInstructions('system', request.instructions, 'instructions');
  const requests = approvalRequestsIn(items);
  for (const { item, origin } of items) {
    if (item.type === 'mcp_call') addMcpCall(builder, item, origin, offer);
    else if (item.type === 'mcp_approval_response') addRefusedCall(builder, item, origin, { requests, offer });
    else addItem(builder, item, origin);
  }
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
      const shown = item.content?.length ? item.content : (item.summary ?? []);
      const text = shown.map((part) => part.text).join('\n');
      if (text !== '') builder.addReasoning(text, origin);
      break;
    }
    case 'compaction': {
      const summary = shownSummary(item);
      if (summary !== null) builder.addUser(summary, origin);
      break;
    }
    case 'function_call': {
      const { call_id: id, arguments: json } = item;
      builder.addToolCall({ id, name: nameInChat(item), arguments: json }, origin);
      break;
    }
    case 'custom_tool_call':
      builder.addToolCall({ id: item.call_id, name: nameInChat(item), arguments: toArguments(item.input) }, origin);
      break;
    case 'function_call_output':
    case 'custom_tool_call_output':
      builder.addToolResult(item.call_id, toContent(item.output, `${origin}.output`), origin);
      break;
    case 'local_shell_call':
    case 'shell_call':
    case 'apply_patch_call':
    case 'computer_call':
      builder.addToolCall(toPastCall(item), origin);
      break;
    case 'local_shell_call_output':
    case 'shell_call_output':
    case 'apply_patch_call_output':
    case 'computer_call_output':
      builder.addToolResult(item.call_id ?? item.id ?? '', toResult(item, `${origin}.output`), origin);
  }
}

function isHosted(item: InputItem): boolean {
  return item.type === 'compaction' ? shownSummary(item) === null : !CONVERSATION_ITEMS.test(item.type);
}

const CONVERSATION_ITEMS =
  /^(message|reasoning|mcp_call|(function|custom_tool|local_shell|shell|apply_patch|computer)_call(_output)?)$/;

/** Items that have a meaning if MCP servers are configured. */
const MCP_ITEMS = /^mcp_(list_tools|approval_request|approval_response)$/;

function toPastCall({ type, call_id: id, action, actions, operation }: ClientCall): PastCall {
  const given = actions ? { actions } : (action ?? operation ?? {});
  return { id, name: type.replace(/_call$/, ''), arguments: JSON.stringify(given) };
}

/** The output of one of OpenAI's tools: a text, a screenshot, or values as JSON. */
function toResult({ output, status }: ClientCallOutput, origin: string): string | SourcedPart[] {
  if (status === 'failed') return `The call failed. ${toText(output)}`.trim();
  if (typeof output === 'string') return output;
  const { image_url: url, file_id: id } = (output ?? {}) as { image_url?: unknown; file_id?: unknown };
  if (typeof url === 'string' && url !== '') return [imagePart({ url }, origin, 'image_url')];
  if (typeof id === 'string') return [imagePart({ url: '', file_id: id }, origin, 'file_id')];
  return toText(output);
}

function toText(output: unknown): string {
  if (typeof output === 'string') return output;
  return output == null ? '' : JSON.stringify(output);
}

function toContent(content: string | readonly InputPart[], origin: string): string | SourcedPart[] {
  if (typeof content === 'string') return content;
  return content.map((part, index) => toPart(part, `${origin}[${index}]`));
}

function toPart(part: InputPart, origin: string): SourcedPart {
  if (part.type === 'refusal') return { part: { type: 'text', text: part.refusal }, origin };
  if (part.type === 'input_file') {
    const { type: _type, ...file } = part;
    return { part: { type: 'file', file }, origin, dataOrigin: `${origin}.file_data` };
  }
  if (part.type === 'input_audio') return { part, origin };
  if (part.type !== 'input_image') return { part: { type: 'text', text: part.text }, origin };
  const { image_url: url, file_id: id } = part;
  if (url != null) return imagePart({ url }, origin, 'image_url');
  if (id != null) return imagePart({ url: '', file_id: id }, origin, 'file_id');
  const param = `${origin}.image_url`;
  throw new ChasquiError('missing_required_parameter', `Missing required parameter: \`${param}\`.`, param);
}

function imagePart(image_url: ImagePart['image_url'], origin: string, field: 'image_url' | 'file_id'): SourcedPart {
  return { part: { type: 'image_url', image_url }, origin, imageOrigin: `${origin}.${field}` };
}

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
  return readConstraints(settings, origins);
}

function toResponseFormat({ text }: ResponsesRequest, origins: FieldOrigins): object | null {
  const format = text?.format;
  origins.set('response_format', 'text.format');
  origins.set('response_format.json_schema', 'text.format');
  if (format?.type !== 'json_schema') return format ?? null;
  const { type, ...json_schema } = format;
  return { type, json_schema };
}
