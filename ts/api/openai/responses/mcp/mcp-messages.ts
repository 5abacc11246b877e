/** Calls of MCP servers as messages of the chat. */
import type { ChatMessageBuilder } from '../../../shared/chat/chat-message-builder.js';
import { toFunctionName } from '../../../shared/mcp/function-names.js';
import type { McpOffer } from '../../../shared/mcp/mcp-offer.js';
import type { ApprovalRequestItem, ApprovalResponseItem, McpCallInput } from './mcp-schema.js';

export function addMcpCall(
  builder: ChatMessageBuilder,
  item: McpCallInput,
  origin: string,
  offer: McpOffer | null,
): void {
  const { output, error, approval_request_id: request } = item;
  const result = output ?? (error == null ? '' : `The call failed: ${toText(error)}`);
  addCall(builder, item, { id: item.id ?? request ?? origin, result, origin, offer });
}

/** An approved call follows as an item of its own. */
export function addRefusedCall(
  builder: ChatMessageBuilder,
  { approve, reason, approval_request_id: id }: ApprovalResponseItem,
  origin: string,
  { requests, offer }: { requests: ReadonlyMap<string, ApprovalRequestItem>; offer: McpOffer | null },
): void {
  const request = requests.get(id);
  if (approve || request === undefined) return;
  const result = `The user has refused this call.${reason ? ` ${reason}` : ''}`;
  addCall(builder, request, { id, result, origin, offer });
}

function addCall(
  builder: ChatMessageBuilder,
  { server_label: label, name, arguments: json }: Pick<McpCallInput, 'server_label' | 'name' | 'arguments'>,
  { id, result, origin, offer }: { id: string; result: string; origin: string; offer: McpOffer | null },
): void {
  const called = offer?.nameOf(label, name) ?? toFunctionName(label, name);
  builder.addToolCall({ id, name: called, arguments: json }, origin);
  builder.addToolResult(id, result, origin);
}

function toText(error: unknown): string {
  return typeof error === 'string' ? error : JSON.stringify(error);
}
