/** Converts a chat body to its prompt, and reports the parts of the request without effect. */
import type {
  AbortOptions,
  ChatMessage,
  ChatPart,
  ChatToolCall,
  Engine,
  ModelInfo,
  RenderedPrompt,
  RenderOptions,
} from '../../../engine/engine.js';
import type { ImageInput } from '../../../engine/job.js';
import { ChasquiError, unsupportedParameter } from '../../../errors.js';
import type { ImageSource } from '../../../images/image-sources.js';
import { type LoadImagesOptions, loadImages } from '../../../images/load-images.js';
import { limitDepth, limitTextDepth } from '../json-schema/json-depth.js';
import { placesOf } from '../json-schema/keyword-places.js';
import { notEnforced } from '../json-schema/schema-check.js';
import type { InputGrammars } from '../tools/input-grammars.js';
import type { ChatCompletionRequest } from './chat-schema.js';
import { type ChatTranslation, imagesIn } from './field-origins.js';
import {
  type AssistantMessage,
  type ContentPart,
  callsOf,
  type FilePart,
  type Message,
  type MessagePart,
  type TextPart,
} from './message-schema.js';
import { isFile, type ReadFilesOptions, readFiles } from './read-files.js';
import { refuseUnsupported, toRenderOptions } from './render-options.js';
import { toLimit, toReasoningTags } from './to-job.js';

/** A chat body, and the parts of the request that it cannot express. */
export interface TranslatedChat extends ChatTranslation {
  /** The grammars of custom tools, if there are any. */
  inputGrammars?: InputGrammars | null;
  /** Paths of fields without effect. */
  passedOver?: readonly string[];
}

export type LoadOptions = LoadImagesOptions & ReadFilesOptions;

export interface RenderChatOptions extends LoadOptions {
  /** Throws `unsupported_parameter` if the grammar of a custom tool cannot be enforced. Default: report it. */
  strict?: boolean;
  /** Maximum number of reported paths in schemas. */
  maxParts: number;
}

export interface RenderedChat {
  rendered: RenderedPrompt;
  /** Paths of fields without effect, each once. */
  ignored: string[];
}

/** Errors name fields of the chat body: `origins` translates them. */
export async function renderChat(
  engine: Engine,
  { body: sent, origins, inputGrammars = null, passedOver = [] }: TranslatedChat,
  { strict = false, maxParts, ...loading }: RenderChatOptions,
): Promise<RenderedChat> {
  const hasFiles = sent.messages.some(({ content }) => Array.isArray(content) && content.some(isFile));
  const { body, unread } = hasFiles ? await readFiles(sent, loading) : { body: sent, unread: [] };
  const plain = await renderReadBody(engine, body, loading);
  const unenforced = [
    ...(await unenforcedParts(engine, body, maxParts, loading)),
    ...unenforcedInCalls(body, plain.unenforcedKeywords, maxParts),
  ].slice(0, maxParts + 1);
  const enforced = inputGrammars?.enforce(plain.grammar);
  const rendered = enforced ? { ...plain, grammar: enforced.grammar } : plain;
  const withoutPlace = enforced?.passedOver ?? [];
  if (strict) refusePassedOver([...unread, ...withoutPlace]);
  const unnamed = [...unread, ...withoutPlace, ...unenforcedLimits(body, rendered), ...unenforced];
  return { rendered, ignored: [...new Set([...passedOver, ...unnamed.map((part) => origins.nameOf(part))])] };
}

/** Checks the body before it loads images. Rejects with the first error. */
export async function renderBody(
  engine: Engine,
  sent: ChatCompletionRequest,
  loading: LoadOptions,
): Promise<RenderedPrompt> {
  const { body } = await readFiles(sent, loading);
  return renderReadBody(engine, body, loading);
}

async function renderReadBody(
  engine: Engine,
  body: ChatCompletionRequest,
  loading: LoadOptions,
): Promise<RenderedPrompt> {
  refuseUnsupported(body, engine.model);
  const options = toRenderOptions(body, engine.model);
  const sources = imagesIn(body.messages, loading.contentOf);
  if (sources.length > 0) refuseSources(engine.model, sources);
  const images = sources.length > 0 ? await loadImages(sources, loading) : [];
  return renderMessages(engine, body.messages, images, options, loading);
}

/**
 * `images`: those of all image and audio parts, in order. Adds the name of the field to errors in grammars, because native
 * code does not know the origin of a grammar.
 */
export async function renderMessages(
  engine: Engine,
  messages: readonly Message[],
  images: readonly ImageInput[],
  options: RenderOptions = {},
  on: AbortOptions = {},
): Promise<RenderedPrompt> {
  const rest = images.values();
  const chatMessages = messages.map((message, index) => toChatMessage(message, index, rest));
  try {
    return await engine.renderChat(chatMessages, options, on);
  } catch (error) {
    if (!(error instanceof ChasquiError) || error.code !== 'invalid_grammar') throw error;
    throw error.withMessage(error.message, options.jsonSchema ? 'response_format' : 'tools');
  }
}

/** In strict mode, the first path that would be ignored is an error. */
export function refusePassedOver([path]: readonly string[]): void {
  if (path === undefined) return;
  throw unsupportedParameter(`\`${path}\` is not supported by this server.`, path);
}

export function refuseSources({ id, inputModalities }: ModelInfo, sources: readonly ImageSource[]): void {
  const refused = sources.find(({ kind }) => !inputModalities.includes(kind ?? 'image'));
  if (refused === undefined) return;
  const { kind, param } = refused;
  const taken = inputModalities.join(' and ');
  throw new ChasquiError(
    kind ? 'audio_not_supported' : 'image_not_supported',
    `The model \`${id}\` takes ${taken} only, but \`${param}\` is ${kind ?? 'an image'}.`,
    param,
  );
}

function toChatMessage(message: Message, index: number, images: Iterator<ImageInput>): ChatMessage {
  const refusal = message.role === 'assistant' ? message.refusal : null;
  const content = message.content ?? refusal ?? '';
  const chatMessage: ChatMessage = {
    role: message.role === 'function' ? 'tool' : message.role,
    content: typeof content === 'string' ? content : toContent(content, images),
  };
  if ('name' in message && message.name) chatMessage.name = message.name;
  if ('tool_call_id' in message && message.tool_call_id) chatMessage.toolCallId = message.tool_call_id;
  if (message.role === 'assistant') Object.assign(chatMessage, toReasoningAndCalls(message, index));
  return chatMessage;
}

function toReasoningAndCalls(message: AssistantMessage, index: number): Pick<ChatMessage, 'reasoning' | 'toolCalls'> {
  const calls = callsOf(message);
  return {
    ...(message.reasoning_content && { reasoning: message.reasoning_content }),
    ...(calls.length > 0 && {
      toolCalls: calls.map(({ id, function: call }, at): ChatToolCall => {
        const json = toJson(call.arguments, `messages[${index}].tool_calls[${at}].function.arguments`);
        return { ...(id && { id }), name: call.name, arguments: json };
      }),
    }),
  };
}

/** Some clients send arguments as they are, not as text. */
function toJson(args: string | object, path: string): string {
  if (typeof args === 'string') limitTextDepth(args, path);
  else limitDepth(args, path);
  return typeof args === 'string' ? args : JSON.stringify(args);
}

function toContent(content: readonly MessagePart[], images: Iterator<ImageInput>): ChatMessage['content'] {
  const parts = content.map((part): Exclude<ContentPart, FilePart> => {
    if (part.type === 'file') throw new Error('A file part has not been read.');
    return part.type === 'refusal' ? { type: 'text', text: part.refusal } : part;
  });
  if (parts.every(isText)) return parts.map(({ text }) => text).join('\n');
  return parts.map((part): ChatPart => {
    if (part.type === 'text') return part;
    const next = images.next();
    if (next.done) throw new Error('A conversation has more image parts than there are images.');
    return { type: 'image', image: next.value };
  });
}

function isText(part: ContentPart): part is TextPart {
  return part.type === 'text';
}

/** Limits of reasoning have no effect if the parser cannot detect reasoning. */
export function unenforcedLimits(body: ChatCompletionRequest, rendered: Pick<RenderedPrompt, 'reasoning'>): string[] {
  const limits = ['reasoning_budget_tokens', 'thinking_budget_tokens'] as const;
  return limits.filter((field) => toLimit([body[field]]) !== null && toReasoningTags(body, rendered) === null);
}

/**
 * The parts of schemas that no grammar enforces: `max` of them, and one more if there are more. Throws
 * `unsupported_parameter` for a part of a strict schema.
 */
export async function unenforcedParts(
  engine: Engine,
  { tools = [], tool_choice: choice, response_format: format, json_schema: schema }: ChatCompletionRequest,
  max: number,
  { signal }: AbortOptions = {},
): Promise<string[]> {
  const schemas: [object | null | undefined, path: string, strict?: boolean | null | undefined][] = [
    [format?.json_schema?.schema, 'response_format.json_schema.schema', format?.json_schema?.strict],
    [format?.schema, 'response_format.schema'],
    [schema, 'json_schema'],
  ];
  if (choice !== 'none') {
    for (const [index, { function: tool }] of tools.entries()) {
      schemas.push([tool.parameters, `tools[${index}].function.parameters`, tool.strict]);
    }
  }
  const found = await Promise.all(
    schemas.map(async ([each, path, strict]) => {
      const parts = each ? await engine.unenforcedParts(each, path, { signal }) : [];
      if (strict && parts[0] !== undefined) throw notEnforced(parts[0]);
      return parts;
    }),
  );
  return found.flat().slice(0, max + 1);
}

/**
 * A call format with raw strings enforces different keywords from a JSON grammar. For example, it does not enforce `anyOf` at
 * the top level of `parameters`.
 */
function unenforcedInCalls(
  { tools = [] }: ChatCompletionRequest,
  unenforced: RenderedPrompt['unenforcedKeywords'],
  max: number,
): string[] {
  const ofTools = new Map(unenforced.map(({ tool, keywords }) => [tool, new Set(keywords)]));
  return tools.flatMap(({ function: { name, parameters, strict } }, index) => {
    const wanted = ofTools.get(name);
    if (wanted === undefined) return [];
    const path = `tools[${index}].function.parameters`;
    const own = Object.keys(parameters ?? {}).filter((keyword) => wanted.has(`parameters.${keyword}`));
    const places = own.map((keyword) => `${path}.${keyword}`);
    if (parameters) places.push(...placesOf(wanted, parameters, path, max + 1));
    if (strict && places[0] !== undefined) throw notEnforced(places[0]);
    return places;
  });
}
