/** Functions that the model may call, and which of them it must: from this protocol's form to that of chat bodies. */
import type { FieldOrigins } from '../chat/field-origins.js';
import { ChasquiError } from '../errors.js';
import type { ResponsesRequest, ResponseTool, ResponseToolChoice } from '../schemas/responses.js';

/** The chat fields `tools`, `tool_choice` and `parallel_tool_calls`, as far as the request says something of them. */
export function toChatTools(request: ResponsesRequest, origins: FieldOrigins): Record<string, unknown> {
  const tools = request.tools ?? [];
  for (const [index, tool] of tools.entries()) refuseHosted(tool, `tools[${index}]`);
  const allowed = allowedNames(request.tool_choice);
  const fields: Record<string, unknown> = {};
  const chatTools: object[] = [];
  tools.forEach((tool, index) => {
    if (allowed && !allowed.has(tool.name ?? '')) return;
    origins.set(`tools[${chatTools.length}]`, `tools[${index}]`);
    origins.set(`tools[${chatTools.length}].function`, `tools[${index}]`);
    chatTools.push(toChatTool(tool));
  });
  if (chatTools.length > 0) fields.tools = chatTools;
  if (request.tool_choice !== undefined) fields.tool_choice = toChatChoice(request.tool_choice);
  origins.set('tool_choice.function', 'tool_choice');
  if (request.parallel_tool_calls !== undefined) fields.parallel_tool_calls = request.parallel_tool_calls;
  return fields;
}

function refuseHosted({ type }: ResponseTool, origin: string): void {
  if (type === 'function') return;
  throw new ChasquiError(
    'unsupported_parameter',
    `\`${origin}\` is a \`${type.slice(0, 40)}\` tool, which this server does not run: only \`function\` tools exist here.`,
    origin,
  );
}

function toChatTool({ name, description, parameters, strict }: ResponseTool): object {
  const definition = {
    name,
    ...(description != null && { description }),
    ...(parameters != null && { parameters }),
    ...(strict != null && { strict }),
  };
  return { type: 'function', function: definition };
}

/** The model is shown the allowed tools only. */
function allowedNames(choice: ResponseToolChoice | undefined): ReadonlySet<string> | null {
  if (typeof choice !== 'object' || choice.type !== 'allowed_tools') return null;
  return new Set(choice.tools.map(({ name }) => name ?? ''));
}

function toChatChoice(choice: ResponseToolChoice): unknown {
  if (typeof choice === 'string') return choice;
  if (choice.type === 'allowed_tools') return choice.mode;
  return { type: 'function', function: { name: choice.name } };
}
