/**
 * Replaces the custom tools of a chat body by functions with one text argument. Templates and grammars know only functions.
 */
import { type ChasquiError, invalidValue, unsupportedParameter } from '../../../errors.js';
import type { ChatCompletionRequest, SentChatCompletion } from '../chat/chat-schema.js';
import { constraintFields } from '../chat/constraint-schema.js';
import { FieldOrigins } from '../chat/field-origins.js';
import type { CustomCall, Message, SentMessage, ToolCall } from '../chat/message-schema.js';
import { readConstraints } from '../chat/output-constraints.js';
import type { TranslatedChat } from '../chat/render-chat.js';
import { describeFormat, parametersOf, toArguments } from './custom-tools.js';
import { InputGrammars, patternField } from './input-grammars.js';
import type { NamedFunction, NamedTool, SentTool, SentToolChoice, Tool, ToolChoice } from './tool-schema.js';

export interface WithFunctions extends TranslatedChat {
  customTools: ReadonlySet<string>;
  passedOver: readonly string[];
  /** Whether the request has `functions`, so replies use the same form. */
  hasOldForm: boolean;
}

const CONSTRAINTS = ['json_schema', ...Object.keys(constraintFields)];

/** Throws `invalid_grammar` if the format of a tool is invalid. */
export function functionsFor(request: SentChatCompletion): WithFunctions {
  const server = request.tools?.findIndex(({ type }) => type === 'mcp') ?? -1;
  if (server >= 0) throw noServersHere(`tools[${server}]`);
  if (request.functions?.length) return fromFunctions(request, request.functions);
  if (typeof request.function_call === 'object') {
    throw invalidValue('`function_call` names a function, but there are no `functions`.', 'function_call');
  }
  // As in llama-server: some clients always send `required`.
  if (request.tool_choice === 'required' && !request.tools?.length) {
    return functionsFor({ ...request, tool_choice: 'none' });
  }
  const isConstrained = CONSTRAINTS.some((name) => name in request);
  const hasCustomTools = namesCustomTools(request);
  if (!isConstrained && !hasCustomTools) return { body: request as ChatCompletionRequest, ...UNCHANGED };
  const origins = new FieldOrigins();
  const sent = readConstraints(request, origins);
  if (!hasCustomTools) return { ...UNCHANGED, body: sent as ChatCompletionRequest, origins };
  const { messages, tools, tool_choice: choice, ...rest } = sent;
  const custom = new CustomTools(origins);
  const body: ChatCompletionRequest = {
    ...rest,
    messages: messages.map((message, index) => toMessage(message, `messages[${index}]`, origins)),
    ...(tools !== undefined && { tools: tools.map((tool, index) => custom.toFunction(tool, `tools[${index}]`)) }),
    ...(choice !== undefined && { tool_choice: toChoice(choice) }),
  };
  const { names: customTools, inputGrammars, passedOver } = custom;
  return { body, origins, customTools, inputGrammars, passedOver, hasOldForm: false };
}

/** Converts `functions` to tools. At most one is called, because a message of the old form has one call. */
function fromFunctions(request: SentChatCompletion, functions: readonly Tool['function'][]): WithFunctions {
  if (request.tools?.length) {
    throw invalidValue('`functions` is the old form of `tools`: send only one of them.', 'functions');
  }
  const { functions: _functions, function_call: choice = 'auto', ...rest } = request;
  const translated = functionsFor({
    ...rest,
    tools: functions.map((each) => ({ type: 'function', function: each })),
    tool_choice: typeof choice === 'object' ? { type: 'function', function: choice } : choice,
    parallel_tool_calls: false,
  });
  const origins = translated.origins === UNCHANGED.origins ? new FieldOrigins() : translated.origins;
  for (const field of ['tool_choice', 'tool_choice.function']) origins.set(field, 'function_call');
  for (const index of functions.keys()) {
    for (const field of [`tools[${index}]`, `tools[${index}].function`]) origins.set(field, `functions[${index}]`);
  }
  return { ...translated, origins, hasOldForm: true };
}

function noServersHere(field: string): ChasquiError {
  const message = `\`${field}\` is a tool of an MCP server, but this server has none, or this endpoint cannot call it.`;
  return unsupportedParameter(message, field);
}

const UNCHANGED: Omit<WithFunctions, 'body'> = {
  origins: new FieldOrigins(),
  customTools: new Set(),
  inputGrammars: null,
  passedOver: [],
  hasOldForm: false,
};

function namesCustomTools({ messages, tools, tool_choice: choice }: SentChatCompletion): boolean {
  if (typeof choice === 'object' || tools?.some(({ type }) => type === 'custom')) return true;
  return messages.some((message) => message.role === 'assistant' && message.tool_calls?.some(isCustom));
}

class CustomTools {
  readonly names = new Set<string>();
  readonly inputGrammars = new InputGrammars();
  readonly passedOver: string[] = [];

  constructor(private readonly origins: FieldOrigins) {}

  toFunction(tool: SentTool, path: string): Tool {
    if (tool.type === 'function') return tool;
    if (tool.type === 'mcp') throw noServersHere(path);
    const { name, description: own, format = null } = tool.custom;
    const origin = `${path}.custom`;
    this.names.add(name);
    this.origins.set(`${path}.function`, origin);
    this.origins.set(patternField(name), `${origin}.format`);
    const pattern = format && this.inputGrammars.add(name, format, `${origin}.format`);
    if (format?.type === 'grammar' && pattern === null) this.passedOver.push(`${origin}.format`);
    const description = [own, describeFormat(format)].filter(Boolean).join('\n\n');
    return { type: 'function', function: { name, description, parameters: parametersOf(pattern) } };
  }
}

function toMessage(message: SentMessage, path: string, origins: FieldOrigins): Message {
  if (message.role !== 'assistant' || !message.tool_calls?.some(isCustom)) return message as Message;
  const tool_calls = message.tool_calls.map((call, index): ToolCall => {
    if (!isCustom(call)) return call;
    const field = `${path}.tool_calls[${index}]`;
    origins.set(`${field}.function`, `${field}.custom`);
    const { custom, type: _type, ...ids } = call;
    return { ...ids, type: 'function', function: { name: custom.name, arguments: toArguments(custom.input) } };
  });
  return { ...message, tool_calls };
}

function isCustom(call: ToolCall | CustomCall): call is CustomCall {
  return call.type === 'custom';
}

function toChoice(choice: SentToolChoice): ToolChoice {
  if (typeof choice === 'string') return choice;
  if (choice.type !== 'allowed_tools') return toNamedFunction(choice);
  const { type, allowed_tools: allowed } = choice;
  return { type, allowed_tools: { ...allowed, tools: allowed.tools.map(toNamedFunction) } };
}

function toNamedFunction(tool: NamedTool): NamedFunction {
  return tool.type === 'function' ? tool : { type: 'function', function: tool.custom };
}
