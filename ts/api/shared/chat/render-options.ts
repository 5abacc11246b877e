/** The inputs of the template and the grammars, except the messages: tools, schema, reasoning. */
import type { ChatTool, ModelInfo, RenderOptions } from '../../../engine/engine.js';
import { ChasquiError, invalidValue, unsupportedParameter } from '../../../errors.js';
import { limitDepth } from '../json-schema/json-depth.js';
import { SchemaCheck } from '../json-schema/schema-check.js';
import type { Tool } from '../tools/tool-schema.js';
import type { ChatCompletionRequest, ResponseFormat } from './chat-schema.js';
import { callsOf } from './message-schema.js';

export function toRenderOptions(body: ChatCompletionRequest, model: ModelInfo): RenderOptions {
  const options: RenderOptions = {};
  if (CONSTRAINTS.some((field) => body[field] !== undefined)) readConstraints(body, model, options);
  if (body.parallel_tool_calls !== undefined) options.parallelToolCalls = body.parallel_tool_calls;
  if (body.continue_final_message === false) options.continueFinalMessage = false;
  if (body.chat_template_kwargs === undefined && body.reasoning_effort === undefined) return options;
  const templateKwargs = toTemplateKwargs(body);
  if (Object.keys(templateKwargs).length > 0) options.templateKwargs = templateKwargs;
  return options;
}

/** The fields that can result in a grammar. */
const CONSTRAINTS = ['tools', 'tool_choice', 'response_format', 'json_schema', 'grammar'] as const;

function readConstraints(body: ChatCompletionRequest, model: ModelInfo, options: RenderOptions): void {
  const schemas = new SchemaCheck();
  const { tools, choice } = readToolChoice(body, readTools(body.tools ?? [], schemas));
  const mayCall = tools.length > 0 && choice !== 'none';
  if (mayCall && !model.takesTools) throw noTools(model.id);
  if (tools.length > 0 && model.takesTools) Object.assign(options, { tools, toolChoice: choice });
  const jsonSchema = readSchema(body, schemas);
  if (body.grammar !== undefined) refuseBeside(body, mayCall, jsonSchema !== null);
  // The format applies to content, and a required tool call leaves no content.
  if (jsonSchema !== null && (!mayCall || choice === 'auto')) options.jsonSchema = jsonSchema;
}

function readTools(tools: readonly Tool[], schemas: SchemaCheck): ChatTool[] {
  const names = new Set<string>();
  return tools.map(({ function: { name, description, parameters } }, index) => {
    const path = `tools[${index}].function`;
    if (names.has(name)) {
      throw invalidValue(`There are two tools named \`${name}\`.`, `${path}.name`);
    }
    names.add(name);
    const tool: ChatTool = { name };
    if (description) tool.description = description;
    if (parameters) {
      schemas.check(parameters, `${path}.parameters`);
      refuseOtherTypes(parameters, `${path}.parameters`);
      tool.parameters = parameters;
    }
    return tool;
  });
}

/** Arguments are an object in all call formats. */
function refuseOtherTypes(parameters: object, path: string): void {
  const { type = 'object' } = parameters as { type?: unknown };
  if ([type].flat().includes('object')) return;
  throw invalidValue(`\`${path}\` must describe an object, because arguments have names.`, path);
}

interface ToolUse {
  /** The tools in the prompt. */
  tools: readonly ChatTool[];
  choice: NonNullable<RenderOptions['toolChoice']>;
}

function readToolChoice({ tool_choice: choice = 'auto' }: ChatCompletionRequest, tools: readonly ChatTool[]): ToolUse {
  if (typeof choice === 'object') {
    const named = choice.type === 'function' ? [choice] : choice.allowed_tools.tools;
    const names = new Set(named.map((each) => each.function.name));
    for (const name of names) {
      if (tools.some((tool) => tool.name === name)) continue;
      throw invalidValue(`\`tool_choice\` names \`${name}\`, but \`tools\` has no such function.`, 'tool_choice');
    }
    if (choice.type === 'function') return { tools, choice: { name: choice.function.name } };
    return { tools: tools.filter(({ name }) => names.has(name)), choice: choice.allowed_tools.mode };
  }
  if (choice === 'required' && tools.length === 0) {
    throw invalidValue('`tool_choice` requires a tool call, but there are no `tools`.', 'tool_choice');
  }
  return { tools, choice };
}

const ANY_OBJECT = { type: 'object' };

/** The schema of `response_format`, or the field beside it that llama.cpp's clients send. */
function readSchema(body: ChatCompletionRequest, schemas: SchemaCheck): object | null {
  const ofFormat = schemaOfFormat(body.response_format);
  if (ofFormat !== null && body.json_schema !== undefined) throw notTogether('json_schema', 'response_format');
  const found = ofFormat ?? (body.json_schema && { schema: orAnyObject(body.json_schema), path: 'json_schema' });
  if (!found) return null;
  schemas.check(found.schema, found.path);
  return found.schema;
}

/** Returns the schema of a format with its path; null: any text. */
export function schemaOfFormat(format: ResponseFormat | undefined): { schema: object; path: string } | null {
  if (format === undefined || format.type === 'text') return null;
  const path = 'response_format.json_schema';
  if (format.type === 'json_object' || (format.schema && !format.json_schema)) {
    return { schema: orAnyObject(format.schema), path: 'response_format.schema' };
  }
  if (!format.json_schema) {
    throw new ChasquiError('missing_required_parameter', `Missing required parameter: \`${path}\`.`, path);
  }
  return { schema: orAnyObject(format.json_schema.schema), path: `${path}.schema` };
}

function orAnyObject(schema: object | null | undefined): object {
  return schema && Object.keys(schema).length > 0 ? schema : ANY_OBJECT;
}

function refuseBeside({ json_schema: schema }: ChatCompletionRequest, mayCall: boolean, hasSchema: boolean): void {
  if (mayCall) throw notTogether('grammar', 'tools');
  if (hasSchema) throw notTogether('grammar', schema === undefined ? 'response_format' : 'json_schema');
}

export function notTogether(param: string, other: string): ChasquiError {
  return unsupportedParameter(`\`${param}\` and \`${other}\` cannot be used together.`, param);
}

/** Variables that llama.cpp sets for every template, from checked fields. */
const RESERVED_VARIABLES = ['messages', 'tools', 'add_generation_prompt', 'bos_token', 'eos_token'];
/**
 * Limit in UTF-16 units of JSON. Variables are parsed and rendered several times, so long text belongs into messages.
 */
const MAX_TEMPLATE_KWARGS_LENGTH = 2 ** 18;

function toTemplateKwargs(body: ChatCompletionRequest): Record<string, unknown> {
  const kwargs = { ...body.chat_template_kwargs };
  const reserved = RESERVED_VARIABLES.find((name) => Object.hasOwn(kwargs, name));
  if (reserved !== undefined) {
    const param = `chat_template_kwargs.${reserved}`;
    throw invalidValue(
      `\`${param}\` cannot be set: the template's \`${reserved}\` comes from the rest of the request and the model.`,
      param,
    );
  }
  limitDepth(kwargs, 'chat_template_kwargs');
  if (JSON.stringify(kwargs).length > MAX_TEMPLATE_KWARGS_LENGTH) {
    throw invalidValue(
      `\`chat_template_kwargs\` is longer than ${MAX_TEMPLATE_KWARGS_LENGTH} characters as JSON.`,
      'chat_template_kwargs',
    );
  }
  if (body.reasoning_effort === 'none') kwargs.enable_thinking ??= false;
  else if (body.reasoning_effort !== undefined) kwargs.reasoning_effort ??= body.reasoning_effort;
  return kwargs;
}

function noTools(model: string): ChasquiError {
  return unsupportedParameter(
    `The chat template of \`${model}\` does not support tool calls. Omit \`tools\`, or set \`tool_choice\` to "none".`,
    'tools',
  );
}

/**
 * Maximum number of messages and tool calls. The template runs for each, and each takes some tokens even when it is
 * empty. Longer conversations fit into few contexts and take seconds to render.
 */
export const MAX_MESSAGES = 8192;

/** Templates write all of them into the prompt, and each gets a grammar. */
export const MAX_TOOLS = 1024;

export function refuseUnsupported(body: ChatCompletionRequest, model: ModelInfo): void {
  refuseTooMany(body);
  if ((body.top_logprobs ?? 0) > 0 && body.logprobs !== true) {
    throw invalidValue('`top_logprobs` requires `logprobs: true`.', 'top_logprobs');
  }
  body.messages.forEach((message, index) => {
    if (message.role !== 'assistant' || callsOf(message).length === 0) return;
    const path = `messages[${index}].${message.tool_calls?.length ? 'tool_calls' : 'function_call'}`;
    if (!model.takesTools) {
      throw unsupported(path, `The chat template of \`${model.id}\` does not support tool calls. Omit \`${path}\`.`);
    }
    if (index === body.messages.length - 1) {
      throw unsupported(path, 'A message that ends with a tool call cannot be continued. Add the result of the call.');
    }
  });
  if (body.messages.at(-1)?.role === 'assistant') {
    if (body.continue_final_message !== false) refuseTwoAssistantMessages(body);
    refuseBoth(body);
  } else if (body.continue_final_message || body.add_generation_prompt === false) {
    refuseContinuing(body);
  }
}

/** One starts a new message, the other continues the last one. vLLM and llama-server also refuse both together. */
function refuseBoth({ continue_final_message: continues, add_generation_prompt: begins }: ChatCompletionRequest): void {
  if (!continues || !begins) return;
  throw invalidValue(
    '`continue_final_message` and `add_generation_prompt` exclude each other. Omit one of them.',
    'continue_final_message',
  );
}

/** Only an assistant message can be continued. */
function refuseContinuing(body: ChatCompletionRequest): void {
  if (body.continue_final_message) {
    throw invalidValue(
      '`continue_final_message` requires a last message of the assistant. Add the beginning of the completion.',
      'continue_final_message',
    );
  }
  if (body.add_generation_prompt === false) {
    throw unsupported(
      'add_generation_prompt',
      '`add_generation_prompt` cannot be false here, because a completion can only continue a message of the assistant.',
    );
  }
}

function refuseTooMany({ messages, tools = [] }: ChatCompletionRequest): void {
  const calls = messages.map((message) => (message.role === 'assistant' ? callsOf(message).length : 0));
  const count = calls.reduce((sum, each) => sum + each, messages.length);
  if (count > MAX_MESSAGES) throw tooMany('messages', `${count} messages and calls`, MAX_MESSAGES);
  if (tools.length > MAX_TOOLS) throw tooMany('tools', `${tools.length} tools`, MAX_TOOLS);
}

function tooMany(param: string, what: string, max: number): ChasquiError {
  return invalidValue(`\`${param}\` holds ${what}, but at most ${max} are taken.`, param);
}

/** The last message of an assistant is continued. Most templates would drop an earlier one. */
function refuseTwoAssistantMessages({ messages }: ChatCompletionRequest): void {
  if (messages.at(-1)?.role !== 'assistant' || messages.at(-2)?.role !== 'assistant') return;
  const path = `messages[${messages.length - 1}]`;
  throw unsupported(
    path,
    `\`${path}\` follows another message of the assistant and cannot be continued. Join the two.`,
  );
}

function unsupported(param: string, message: string): ChasquiError {
  return unsupportedParameter(message, param);
}
