/** Tools that the model may use, and which of them it must: from Anthropic's form to that of chat bodies. */
import type { FieldOrigins } from '../chat/field-origins.js';
import { ChasquiError } from '../errors.js';
import type { AnthropicTool, AnthropicToolChoice, MessagesRequest } from '../schemas/anthropic-request.js';

/** The chat fields `tools`, `tool_choice` and `parallel_tool_calls`, as far as the request says something of them. */
export function toChatTools({ tools = [], tool_choice: choice }: MessagesRequest, origins: FieldOrigins) {
  const fields: Record<string, unknown> = {};
  tools.forEach((tool, index) => {
    refuseHosted(tool, `tools[${index}]`);
    origins.set(`tools[${index}].function`, `tools[${index}]`);
    origins.set(`tools[${index}].function.parameters`, `tools[${index}].input_schema`);
  });
  origins.set('tools', 'tools');
  if (tools.length > 0) fields.tools = tools.map(toChatTool);
  if (choice) fields.tool_choice = toChatChoice(choice);
  if (choice?.disable_parallel_tool_use != null) fields.parallel_tool_calls = !choice.disable_parallel_tool_use;
  origins.set('tool_choice', 'tool_choice');
  origins.set('tool_choice.function', 'tool_choice');
  return fields;
}

function refuseHosted({ type }: AnthropicTool, origin: string): void {
  if (type == null || type === 'custom') return;
  throw new ChasquiError(
    'unsupported_parameter',
    `\`${origin}\` is a \`${type.slice(0, 40)}\` tool, which this server does not have: describe a tool of your own by \`input_schema\`.`,
    origin,
  );
}

function toChatTool({ name, description, input_schema: parameters, strict }: AnthropicTool): object {
  const definition = {
    name,
    ...(description != null && { description }),
    ...(parameters !== undefined && { parameters }),
    ...(strict != null && { strict }),
  };
  return { type: 'function', function: definition };
}

function toChatChoice(choice: AnthropicToolChoice): unknown {
  switch (choice.type) {
    case 'any':
      return 'required';
    case 'tool':
      return { type: 'function', function: { name: choice.name } };
    default:
      return choice.type;
  }
}
