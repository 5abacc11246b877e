/** Generates from the prompts and conversations of library users. */
import { setMaxListeners } from 'node:events';
import { type ChasquiError, invalidValue, unsupportedParameter } from '../errors.js';
import { NEUTRAL_SAMPLING } from '../options/sampling-table.js';
import { refuseMedia } from './engine-errors.js';
import type {
  AbortOptions,
  ChatTool,
  ModelInfo,
  RenderedPrompt,
  RenderOptions,
  SubmitOptions,
  TokenStream,
} from './engine-types.js';
import { checkRequest } from './generate-fields.js';
import { completeJob, type GenerateOptions, type Grammar, grammarOf, type Job } from './job.js';
import { checkMessages, type GenerateMessage, mediaIn } from './load-chat-images.js';
import { ReplyStream } from './reply-stream.js';

/** A tool, as such or in the form of OpenAI's API. */
export type GenerateTool = ChatTool | { type: 'function'; function: ChatTool };

type LooseFields = {
  stop?: string | readonly string[];
  grammar?: string | Grammar | null;
  /** Ends the generation; as in the second argument. */
  signal?: AbortSignal;
};

/** A prompt that is used verbatim. */
export type PromptRequest = Omit<GenerateOptions, keyof LooseFields> & LooseFields;

/** A conversation. The model's chat template renders it, and the completion is parsed. */
export type MessagesRequest = Omit<
  PromptRequest,
  'prompt' | 'images' | 'preservedTokens' | 'formatStops' | 'format' | 'reasoning'
> &
  Omit<RenderOptions, 'tools' | 'toolChoice'> & {
    messages: readonly GenerateMessage[];
    tools?: readonly GenerateTool[];
    toolChoice?: RenderOptions['toolChoice'] | { type: 'function'; function: { name: string } };
  };

export type GenerateRequest = PromptRequest | MessagesRequest;

/** The methods of an engine that `generate` uses. */
interface Generator {
  readonly model: ModelInfo;
  render(messages: readonly GenerateMessage[], options: RenderOptions, on: AbortOptions): Promise<RenderedPrompt>;
  submit(job: Promise<Job>, options: SubmitOptions): TokenStream;
}

/** Never throws: the stream rejects with a `ChasquiError`, or with the signal's reason. */
export function generate(engine: Generator, request: GenerateRequest, { signal }: AbortOptions): ReplyStream {
  const signals = [signal, request?.signal].filter((each) => each instanceof AbortSignal);
  // Programs use one signal for many generations.
  for (const each of signals) setMaxListeners(0, each);
  const on = { signal: signals.length > 1 ? AbortSignal.any(signals) : signals[0] };
  const job = toJob(engine, request, on);
  return new ReplyStream(engine.submit(job, on), job);
}

async function toJob(engine: Generator, request: GenerateRequest, on: AbortOptions): Promise<Job> {
  on.signal?.throwIfAborted();
  checkRequest(request);
  const { stop = [], grammar, signal: _, ...given } = request;
  const defaults = { ...NEUTRAL_SAMPLING, ...engine.model.sampling };
  const common = {
    stop: [stop].flat(),
    ...(grammar !== undefined && { grammar: typeof grammar === 'string' ? grammarOf(grammar) : grammar }),
  };
  if ('prompt' in given && given.prompt !== undefined) return completeJob({ ...given, ...common }, defaults);
  const { messages, tools, toolChoice, parallelToolCalls, jsonSchema, ...rest } = given as Omit<
    MessagesRequest,
    keyof LooseFields
  >;
  const { continueFinalMessage, specialTokens, templateKwargs, ...job } = rest;
  checkMessages(messages);
  refuseMedia(engine.model, mediaIn(messages));
  const options = { parallelToolCalls, continueFinalMessage, specialTokens, templateKwargs };
  const constraints = readConstraints(engine.model, { tools, toolChoice, jsonSchema });
  if (grammar && Object.keys(constraints).length > 0) throw notBesideGrammar(jsonSchema ? 'jsonSchema' : 'tools');
  const rendered = await engine.render(messages, { ...constraints, ...defined(options) }, on);
  const { prompt, images, reasoning, additionalStops, preservedTokens, format } = rendered;
  const parts = { prompt, images, reasoning, formatStops: additionalStops, preservedTokens, format };
  return completeJob({ grammar: rendered.grammar, ...job, ...common, ...parts }, defaults);
}

type Constraints = { [Name in 'tools' | 'toolChoice' | 'jsonSchema']: MessagesRequest[Name] | undefined };

function readConstraints(model: ModelInfo, { tools: given = [], toolChoice, jsonSchema }: Constraints): RenderOptions {
  const tools = given.map((tool) => ('function' in tool ? tool.function : tool));
  const nameless = tools.findIndex((tool) => typeof tool?.name !== 'string' || tool.name === '');
  if (nameless >= 0) throw invalidTool(`tools[${nameless}].name`, 'is missing');
  const choice = typeof toolChoice === 'object' && 'function' in toolChoice ? toolChoice.function : toolChoice;
  const named = typeof choice === 'object' ? choice.name : undefined;
  if (typeof choice === 'object' && !tools.some(({ name }) => name === named)) {
    throw invalidTool('toolChoice', `names \`${named}\`, which is none of \`tools\``);
  }
  if (choice === 'required' && tools.length === 0)
    throw invalidTool('toolChoice', 'requires a call, but there are no `tools`');
  const mayCall = tools.length > 0 && choice !== 'none';
  if (mayCall && !model.takesTools) {
    const message = `The chat template of \`${model.id}\` has no form for tool calls. Omit \`tools\`.`;
    throw unsupportedParameter(message, 'tools');
  }
  // A required call leaves no text that a schema could apply to.
  const hasSchema = jsonSchema !== undefined && (!mayCall || (choice ?? 'auto') === 'auto');
  return {
    ...(tools.length > 0 && model.takesTools && { tools, toolChoice: choice ?? 'auto' }),
    ...(hasSchema && { jsonSchema }),
  };
}

function invalidTool(param: string, what: string): ChasquiError {
  return invalidValue(`\`${param}\` ${what}.`, param);
}

function notBesideGrammar(param: string): ChasquiError {
  return unsupportedParameter(`\`grammar\` and \`${param}\` cannot be used together.`, param);
}

function defined<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
