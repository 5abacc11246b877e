/** Converts Anthropic's tools and `tool_choice` to those of chat bodies. */

import { ChasquiError, unsupportedParameter } from '../../../errors.js';
import type { FieldOrigins } from '../../shared/chat/field-origins.js';
import { clientToolOf, toClientFunction } from './client-tools.js';
import type { AnthropicTool, AnthropicToolChoice, MessagesRequest } from './schema.js';

/**
 * The chat fields `tools`, `tool_choice` and `parallel_tool_calls`, if the request sets them. Adds the paths of tools that only
 * Anthropic's own servers can run to `ignored`.
 */
export function toChatTools(request: MessagesRequest, origins: FieldOrigins, ignored: string[]) {
  const { tools = [], tool_choice: choice } = request;
  const fields: Record<string, unknown> = {};
  const own: object[] = [];
  tools.forEach((tool, index) => {
    const origin = `tools[${index}]`;
    const client = clientToolOf(tool);
    if (isHosted(tool)) {
      if (choice?.type === 'tool' && choice.name === tool.name) throw hostedTool(tool, origin);
      ignored.push(origin);
      return;
    }
    origins.set(`tools[${own.length}].function`, origin);
    origins.set(`tools[${own.length}].function.parameters`, `${origin}.input_schema`);
    if (tool.input_examples?.length) ignored.push(`${origin}.input_examples`);
    own.push(toChatTool(client === null ? tool : { ...tool, ...toClientFunction(tool, client) }, origin));
  });
  origins.set('tools', 'tools');
  if (own.length > 0) fields.tools = own;
  if (choice) fields.tool_choice = toChatChoice(choice);
  if (choice?.disable_parallel_tool_use != null) fields.parallel_tool_calls = !choice.disable_parallel_tool_use;
  origins.set('tool_choice', 'tool_choice');
  origins.set('tool_choice.function', 'tool_choice');
  return fields;
}

/** Refuses tools that would be passed over, for servers that ignore nothing. */
export function refuseHosted({ tools = [] }: MessagesRequest): void {
  tools.forEach((tool, index) => {
    if (isHosted(tool)) throw hostedTool(tool, `tools[${index}]`);
  });
}

/** Whether only Anthropic's servers can run it. */
function isHosted(tool: AnthropicTool): boolean {
  return tool.type != null && tool.type !== 'custom' && clientToolOf(tool) === null;
}

function hostedTool({ type }: AnthropicTool, origin: string): ChasquiError {
  return unsupportedParameter(
    `\`${origin}\` is a \`${String(type).slice(0, 40)}\` tool, which this server does not support. Describe your own tool with \`input_schema\`.`,
    origin,
  );
}

function toChatTool({ name, description, input_schema: parameters, strict }: AnthropicTool, origin: string): object {
  if (name === undefined) {
    const param = `${origin}.name`;
    throw new ChasquiError('missing_required_parameter', `Missing required parameter: \`${param}\`.`, param);
  }
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
