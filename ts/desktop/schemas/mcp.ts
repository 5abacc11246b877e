/** MCP servers, and calls of their tools. */
import * as s from '../../http/schema/json-schema.js';

const label = s.limited(s.string, { maxLength: 200 });

const mcpTool = s.objectOf({
  /** Identifies the tool in the settings of chats. */
  key: s.string,
  /**
   * Identifies the program or URL of its server. Chats allow the tool with `chat:<identity>`; `allowedTools` has key, line
   * feed, identity.
   */
  identity: s.string,
  /** The name under which models call it. */
  name: s.string,
  tool: s.string,
  description: s.string,
});

const mcpServer = s.objectOf({
  label: s.string,
  state: s.oneOf('off', 'starting', 'running', 'failed'),
  /** Why it failed. */
  error: s.orNull(s.string),
  restarts: s.integer,
  tools: s.arrayOf(mcpTool),
});

export const mcpList = s.objectOf({
  file: s.string,
  /** Why the file cannot be used. */
  error: s.orNull(s.string),
  servers: s.arrayOf(mcpServer),
});

export const mcpParams = s.objectOf({ label });

/** A definition as JSON. Values of `env` and `headers` are `<stored>`. */
export const mcpText = s.objectOf({ text: s.string });

export const mcpSave = s.closedObjectOf({
  /** `{"mcpServers": {…}}`, or the object within. */
  text: s.limited(s.string, { maxLength: 2 ** 20 }),
  /** The server that the text replaces. `<stored>` keeps values of it. */
  replaces: s.orNull(label),
});

export const mcpSwitch = s.closedObjectOf({ enabled: s.boolean });

const id = s.limited(s.string, { maxLength: 200 });

/** The call as the user saw it. */
export const mcpCall = s.closedObjectOf({
  message: id,
  call: id,
  server: label,
  tool: s.limited(s.string, { maxLength: 200 }),
  /** Whether the user allowed this call alone. Otherwise the chat or the settings must allow the tool. */
  once: s.boolean,
});

export const mcpResult = s.objectOf({ state: s.oneOf('done', 'failed'), result: s.string });

export type McpTool = s.Static<typeof mcpTool>;
export type McpServerState = s.Static<typeof mcpServer>;
export type McpList = s.Static<typeof mcpList>;
export type McpCall = s.Static<typeof mcpCall>;
export type McpCallResult = s.Static<typeof mcpResult>;
