/** MCP tools and items of the Responses API. */
import * as s from '../../../../http/schema/json-schema.js';

const call = { server_label: s.string, name: s.string, arguments: s.string };
const callFields = {
  id: s.orNull(s.string),
  status: s.anything,
  output: s.orNull(s.string),
  error: s.anything,
  approval_request_id: s.orNull(s.string),
};

/** Items of earlier replies, and the answer to a request for approval. */
export const mcpInputItems = [
  s.objectOf({ type: s.exactly('mcp_call'), ...call }, callFields),
  s.objectOf({ type: s.exactly('mcp_approval_request'), id: s.string, ...call }),
  s.objectOf(
    { type: s.exactly('mcp_approval_response'), approval_request_id: s.string, approve: s.boolean },
    { id: s.anything, reason: s.orNull(s.string) },
  ),
] as const;

const listTools = s.objectOf({
  type: s.exactly('mcp_list_tools'),
  id: s.string,
  server_label: s.string,
  tools: s.arrayOf(
    s.objectOf({
      name: s.string,
      description: s.string,
      input_schema: s.anyObject,
      annotations: s.orNull(s.anyObject),
    }),
  ),
  error: s.orNull(s.string),
});

const callItem = s.objectOf({
  type: s.exactly('mcp_call'),
  id: s.string,
  status: s.oneOf('in_progress', 'completed', 'incomplete', 'failed'),
  ...call,
  output: s.orNull(s.string),
  error: s.orNull(s.string),
  approval_request_id: s.orNull(s.string),
});

const approvalRequest = s.objectOf({ type: s.exactly('mcp_approval_request'), id: s.string, ...call });

export const mcpOutputItems = [listTools, callItem, approvalRequest] as const;

export type McpListItem = s.Static<typeof listTools>;
export type McpCallItem = s.Static<typeof callItem>;
export type ApprovalRequestItem = s.Static<typeof approvalRequest>;
export type McpCallInput = s.Static<(typeof mcpInputItems)[0]>;
export type ApprovalResponseItem = s.Static<(typeof mcpInputItems)[2]>;
