/** Calls that a client has approved in this request. */
import { type ChasquiError, invalidValue } from '../../../../errors.js';
import type { McpOffer } from '../../../shared/mcp/mcp-offer.js';
import type { InputItem } from '../input-schema.js';
import type { SourcedItem } from '../resolve-input.js';
import type { ApprovalRequestItem, ApprovalResponseItem } from './mcp-schema.js';

/** By their ids. */
export function approvalRequestsIn(items: readonly SourcedItem[]): ReadonlyMap<string, ApprovalRequestItem> {
  const requests = items.flatMap(({ item }) => (item.type === 'mcp_approval_request' ? [item] : []));
  return new Map(requests.map((item) => [item.id, item]));
}

/**
 * Returns the approved requests without a call so far.
 * @throws {ChasquiError} a response to no request, or the server of the call is not in `tools`
 */
export function approvedCalls(items: readonly SourcedItem[], offer: McpOffer): ApprovalRequestItem[] {
  const requests = approvalRequestsIn(items);
  const done = new Set(items.map(({ item }) => (item.type === 'mcp_call' ? item.approval_request_id : null)));
  const approved = new Map<string, ApprovalRequestItem>();
  for (const { item, origin } of items) {
    if (!isResponse(item) || done.has(item.approval_request_id)) continue;
    const request = requests.get(item.approval_request_id);
    if (request === undefined) throw unknownRequest(item, `${origin}.approval_request_id`);
    if (item.approve === false) continue;
    if (offer.entryOf(request.server_label) === null) {
      // A later request may continue the conversation without the server.
      if (!origin.startsWith('input')) continue;
      throw serverMissing(request);
    }
    approved.set(request.id, request);
  }
  return [...approved.values()];
}

function isResponse(item: InputItem): item is ApprovalResponseItem & InputItem {
  return item.type === 'mcp_approval_response';
}

function unknownRequest({ approval_request_id: id }: ApprovalResponseItem, field: string): ChasquiError {
  const message = `\`${field}\` names no request for approval of this conversation: \`${id.slice(0, 100)}\`.`;
  return invalidValue(message, field);
}

function serverMissing({ server_label: label }: ApprovalRequestItem): ChasquiError {
  return invalidValue(`\`tools\` must have the MCP server of the approved call: \`${label.slice(0, 100)}\`.`, 'tools');
}
