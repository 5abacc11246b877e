/** Converts tools and `tool_choice` to their form in chat bodies. Tools that only OpenAI's servers run are skipped. */

import { invalidValue } from '../../../errors.js';
import type { FieldOrigins } from '../../shared/chat/field-origins.js';
import type { McpOffer } from '../../shared/mcp/mcp-offer.js';
import { describeFormat, parametersOf } from '../../shared/tools/custom-tools.js';
import { InputGrammars, patternField } from '../../shared/tools/input-grammars.js';
import { type ClientToolType, clientToolName, clientToolOf, toClientFunction } from './local-tools.js';
import type { ResponsesRequest } from './schema.js';
import { nameInChat } from './tool-names.js';
import type { ResponseTool, ResponseToolChoice } from './tools-schema.js';

/** A tool under its name in the request. The chat body has no namespaces, so its name there may differ. */
export interface CalledTool {
  type: 'function' | 'custom' | 'mcp_call' | 'mcp_approval_request' | ClientToolType;
  name: string;
  /** The label of the server, for tools of MCP servers. */
  namespace: string | null;
}

type McpChoice = Extract<ResponseToolChoice, { server_label: string }>;

export interface ToolTranslation {
  /** The chat fields `tools`, `tool_choice` and `parallel_tool_calls`, if the request sets them. */
  fields: Record<string, unknown>;
  /** The tools by their names in the chat body. */
  tools: ReadonlyMap<string, CalledTool>;
  /** Grammars of the custom tools. */
  inputGrammars: InputGrammars;
  /** The paths of fields without effect. */
  passedOver: readonly string[];
}

export function toChatTools(
  request: ResponsesRequest,
  origins: FieldOrigins,
  offer: McpOffer | null = null,
): ToolTranslation {
  refuseUnknownTools(request);
  const collected = new ToolCollection(origins, allowedNames(request.tool_choice), offer);
  for (const [index, tool] of (request.tools ?? []).entries()) collected.add(tool, `tools[${index}]`);
  const { chatTools, tools, inputGrammars, passedOver } = collected;
  const fields: Record<string, unknown> = {};
  if (chatTools.length > 0) fields.tools = chatTools;
  if (request.tool_choice !== undefined) fields.tool_choice = toChatChoice(request.tool_choice, tools);
  origins.set('tool_choice.function', 'tool_choice');
  if (request.parallel_tool_calls !== undefined) fields.parallel_tool_calls = request.parallel_tool_calls;
  return { fields, tools, inputGrammars, passedOver };
}

class ToolCollection {
  readonly chatTools: object[] = [];
  readonly tools = new Map<string, CalledTool>();
  readonly inputGrammars = new InputGrammars();
  readonly passedOver: string[] = [];

  constructor(
    private readonly origins: FieldOrigins,
    private readonly allowed: ReadonlySet<string> | null,
    private readonly offer: McpOffer | null,
  ) {}

  add(tool: ResponseTool, origin: string, namespace: string | null = null): void {
    const { type, name = '' } = tool;
    const client = clientToolOf(tool);
    if (type === 'namespace' && namespace === null) {
      const inner = tool.tools ?? [];
      for (const [index, each] of inner.entries()) this.add(each, `${origin}.tools[${index}]`, name);
    } else if (type === 'function' || type === 'custom') {
      if (this.#isAllowed(name, namespace)) this.#addCallable(tool, { type, name, namespace }, origin);
    } else if (client !== null) {
      if (this.#isAllowed(client, null)) this.#addClientTool(tool, client, origin);
    } else if (type === 'mcp' && namespace === null && this.offer !== null) {
      if (this.#isAllowed('mcp', null)) this.#addServer(this.offer, origin);
    } else {
      this.passedOver.push(origin);
    }
  }

  /** Only the allowed tools appear in the prompt. */
  #isAllowed(name: string, namespace: string | null): boolean {
    if (this.allowed === null || this.allowed.has(name)) return true;
    return namespace !== null && this.allowed.has(namespace);
  }

  #addClientTool(tool: ResponseTool, type: ClientToolType, origin: string): void {
    this.#place(origin);
    const name = clientToolName(type);
    if (!this.tools.has(name)) this.tools.set(name, { type, name: type, namespace: null });
    this.chatTools.push(toClientFunction(type, tool));
  }

  #addServer({ tools }: McpOffer, origin: string): void {
    for (const { name, entry, tool } of tools) {
      if (entry.origin !== origin) continue;
      this.#place(origin);
      const type = entry.asks(tool) ? 'mcp_approval_request' : 'mcp_call';
      this.tools.set(name, { type, name: tool.name, namespace: entry.server.label });
      const { description, inputSchema: parameters } = tool;
      this.chatTools.push({ type: 'function', function: { name, description, parameters } });
    }
  }

  #place(origin: string): void {
    const field = `tools[${this.chatTools.length}]`;
    this.origins.set(field, origin);
    this.origins.set(`${field}.function`, origin);
  }

  #addCallable(tool: ResponseTool, called: CalledTool, origin: string): void {
    this.#place(origin);
    const name = nameInChat(called);
    if (!this.tools.has(name)) this.tools.set(name, called);
    if (called.type === 'function') {
      this.chatTools.push(toChatFunction(tool, name));
      return;
    }
    const format = tool.format ?? null;
    const pattern = format && this.inputGrammars.add(name, format, `${origin}.format`);
    this.origins.set(patternField(name), `${origin}.format`);
    if (format?.type === 'grammar' && pattern === null) this.passedOver.push(`${origin}.format`);
    const description = [tool.description, describeFormat(format)].filter(Boolean).join('\n\n');
    this.chatTools.push({ type: 'function', function: { name, description, parameters: parametersOf(pattern) } });
  }
}

function toChatFunction({ description, parameters, strict }: ResponseTool, name: string): object {
  const definition = {
    name,
    ...(description != null && { description }),
    ...(parameters != null && { parameters }),
    ...(strict != null && { strict }),
  };
  return { type: 'function', function: definition };
}

/** @throws {ChasquiError} `invalid_value` if `tool_choice` allows a tool that is not among the tools. */
function refuseUnknownTools({ tools = [], tool_choice: choice }: ResponsesRequest): void {
  if (typeof choice !== 'object' || choice.type !== 'allowed_tools') return;
  const known = new Set(tools.flatMap(namesInRequest));
  for (const [index, { type, name = type }] of choice.tools.entries()) {
    if (known.has(name)) continue;
    const param = `tool_choice.tools[${index}]`;
    throw invalidValue(`\`${param}\` names \`${name.slice(0, 64)}\`, but \`tools\` has no such tool.`, param);
  }
}

/** Allowed tools have these names in `tool_choice`. Tools without a name have their type. */
function namesInRequest(tool: ResponseTool): string[] {
  const { type, name = type, tools } = tool;
  if (type === 'namespace') return [name, ...(tools ?? []).flatMap(namesInRequest)];
  if (type === 'function' || type === 'custom') return [name];
  return [type, clientToolOf(tool) ?? type];
}

function allowedNames(choice: ResponseToolChoice | undefined): ReadonlySet<string> | null {
  if (typeof choice !== 'object' || choice.type !== 'allowed_tools') return null;
  return new Set(choice.tools.map(({ type, name }) => name ?? type));
}

/** Without a name, any tool of the server. The tools are unknown until the server has listed them. */
function toMcpChoice({ server_label: label, name }: McpChoice, tools: ReadonlyMap<string, CalledTool>): object {
  const found = [...tools].filter(([, tool]) => tool.namespace === label && tool.type.startsWith('mcp_'));
  const chosen = found.flatMap(([inChat, tool]) => ((name ?? tool.name) === tool.name ? inChat : []));
  const functions = (chosen.length > 0 ? chosen : [name ?? label]).map((each) => toChatChoiceOf(each));
  if (functions.length === 1) return functions[0] as object;
  return { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: functions } };
}

function toChatChoiceOf(name: string): object {
  return { type: 'function', function: { name } };
}

function toChatChoice(choice: ResponseToolChoice, tools: ReadonlyMap<string, CalledTool>): unknown {
  if (typeof choice === 'string') return choice;
  if (choice.type === 'allowed_tools') return choice.mode;
  if (choice.type === 'mcp') return toMcpChoice(choice, tools);
  const asked = 'name' in choice ? choice.name : choice.type;
  const [name = asked] = [...tools].find(([, tool]) => tool.name === asked) ?? [];
  return toChatChoiceOf(name);
}
