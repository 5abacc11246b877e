/**
 * Tools of chats: the app offers them to the model and passes their results on. Pages run them after the user agreed, or
 * have the app run them. The model sees each result before its next call.
 */
import type { Chat, ChatMessage } from './api-types.js';

/** The field of a chat's settings with the offered tools. */
export const TOOLS = 'tools';

/** Completions with calls per message of the user. */
const MAX_ROUNDS = 10;
export const MAX_CALLS = 16;

const DEFINITIONS: Readonly<Record<string, object>> = {
  javascript: {
    name: 'javascript',
    description:
      'Runs JavaScript and returns what it prints with console.log and the value that it returns. It has no network, no files and no page.',
    parameters: {
      type: 'object',
      properties: { code: { type: 'string', description: 'An expression, or statements. May use await.' } },
      required: ['code'],
    },
  },
};

/** Fields of a request for this branch. `others` are definitions of tools of MCP servers. */
export function toolFields(
  { settings }: Pick<Chat, 'settings'>,
  branch: readonly ChatMessage[],
  others: readonly object[] = [],
): object {
  const own = Object.keys((settings[TOOLS] ?? {}) as object).flatMap((name) => DEFINITIONS[name] ?? []);
  const offered = [...own, ...others];
  if (offered.length === 0) return {};
  const turn = branch.slice(branch.findLastIndex(({ role }) => role === 'user') + 1);
  const rounds = turn.filter(({ toolCalls }) => toolCalls !== undefined).length;
  return {
    tools: offered.map((definition) => ({ type: 'function', function: definition })),
    ...(rounds >= MAX_ROUNDS && { tool_choice: 'none' }),
  };
}

/** The calls of a message, and their results as messages. */
export function callsOf({ toolCalls = [] }: ChatMessage): { calls: object; results: object[] } {
  if (toolCalls.length === 0) return { calls: {}, results: [] };
  const calls = toolCalls.map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }));
  const results = toolCalls.map(({ id, result = 'The tool was not run.' }) => ({
    role: 'tool',
    tool_call_id: id,
    content: result,
  }));
  return { calls: { tool_calls: calls }, results };
}

/** A part of a call in a stream. */
export interface CallDelta {
  index: number;
  id?: string;
  function?: { name?: string; arguments?: string };
}

type ToolCalls = NonNullable<ChatMessage['toolCalls']>;

/** Adds parts to calls. Further calls than allowed are dropped. */
export function joinCalls(calls: ToolCalls, deltas: readonly CallDelta[]): ToolCalls {
  const joined = [...calls];
  for (const { index, id = '', function: { name = '', arguments: text = '' } = {} } of deltas) {
    if (index >= MAX_CALLS || index > joined.length) continue;
    const before = joined[index] ?? { id: '', name: '', arguments: '' };
    joined[index] = { id: before.id + id, name: before.name + name, arguments: before.arguments + text };
  }
  return joined;
}
