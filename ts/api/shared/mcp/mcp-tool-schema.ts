/** Tools of the type `mcp`. */
import * as s from '../../../http/schema/json-schema.js';

const toolFilter = s.objectOf({}, { tool_names: s.orNull(s.arrayOf(s.string)), read_only: s.orNull(s.boolean) });

export const mcpToolFields = {
  /** The name of a configured server. */
  server_label: s.orNull(s.string),
  server_description: s.orNull(s.string),
  allowed_tools: s.orNull(s.anyOf(s.arrayOf(s.string), toolFilter)),
  require_approval: s.orNull(s.orString(s.objectOf({}, { always: s.orNull(toolFilter), never: s.orNull(toolFilter) }))),
  /** Refused, like the next three: the server connects only to configured servers. */
  server_url: s.anything,
  connector_id: s.anything,
  authorization: s.anything,
  headers: s.anything,
};

export const mcpToolSchema = s.objectOf({ type: s.exactly('mcp') }, mcpToolFields);

export type McpToolFields = s.StaticFields<Record<never, never>, typeof mcpToolFields>;
