/** The tool calls of an assistant's message, in whichever form the message has them. */
import type { AssistantMessage, ToolCall } from './message-schema.js';

/** `function_call` is what OpenAI had before `tool_calls`; beside them it says nothing new. */
export function callsOf({ tool_calls: calls, function_call: call }: AssistantMessage): readonly ToolCall[] {
  if (calls && calls.length > 0) return calls;
  return call ? [{ type: 'function', function: call }] : [];
}
