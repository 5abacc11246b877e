/**
 * The body of `POST /v1/chat/completions`. Only impossible values are refused; unusual ones are the caller's choice.
 * Every field may also be `null`, which means absent: nulls are removed before the schema is applied. Fields are
 * grouped by the endpoints that accept them. Each is declared once: its type and its documentation derive from the
 * schema.
 */
import {
  anyObject,
  arrayOf,
  boolean,
  field,
  integer,
  limited,
  number,
  objectOf,
  oneOf,
  orNull,
  orString,
  pickFields,
  recordOf,
  type Static,
  type StaticFields,
  string,
  typed,
} from '../../../http/schema/json-schema.js';
import { jsonSchema } from '../../../http/schema/variants.js';
import {
  MAX_ADAPTER_SCALE,
  MAX_ADAPTERS,
  MAX_CACHE_SALT,
  MAX_REASONING_MESSAGE,
} from '../../../options/model-option-table.js';
import type { Profile } from '../../../profiles/profile.js';
import { modelUseFields } from '../model-use-schema.js';
import {
  functionChoice,
  functionSchema,
  type Tool,
  type ToolChoice,
  toolChoiceSchema,
  toolSchema,
} from '../tools/tool-schema.js';
import { constraintFields } from './constraint-schema.js';
import { type Message, messages } from './message-schema.js';
import { samplerFields, samplingFields } from './sampler-fields.js';

export const MAX_STOP_STRINGS = 64;
/** In characters. Text is delayed as long as it may become a stop string. */
export const MAX_STOP_STRING_LENGTH = 1000;
export const MAX_CHOICES = 128;
export const MAX_TOP_LOGPROBS = 20;
/** Every step of every choice visits each entry. The limit suffices to ban a whole script of a large vocabulary. */
export const MAX_LOGIT_BIASES = 16_384;
/** Templates use a dozen variables at most. */
export const MAX_TEMPLATE_VARIABLES = 64;
export const MAX_PRIORITY = 100;

/** Empty stop strings are ignored. */
export const stopString = limited(string, { maxLength: MAX_STOP_STRING_LENGTH });
/** Clients of other servers send -1 for no limit. */
const tokenLimit = limited(integer, { minimum: -1, not: { const: 0 } });

export const model = field('The id of a served model; see `GET /v1/models`.', string);
export const stream = field('Sends the completion as server-sent events while it is computed.', boolean, {
  default: false,
});
export const { temperature, top_p: topP, ...otherSampling } = samplingFields;

const requestedAdapter = objectOf(
  { id: typed<number | string>({ type: ['integer', 'string'], minimum: 0 }) },
  { scale: limited(number, { minimum: -MAX_ADAPTER_SCALE, maximum: MAX_ADAPTER_SCALE }) },
);

export const requestedAdapters = limited(arrayOf(requestedAdapter), { maxItems: MAX_ADAPTERS });

/** Fields that every endpoint with completions takes under these names: chats, texts, responses, messages. */
export const completionFields = {
  ...otherSampling,
  logit_bias: field('Token id → bias of its logit.', recordOf(number), {
    // Without leading zeros each token has one name only.
    propertyNames: { type: 'string', pattern: '^(0|[1-9][0-9]{0,8})$' },
    maxProperties: MAX_LOGIT_BIASES,
  }),
  stop: field(
    'Stop strings: they end the completion and are not part of it. Empty ones are ignored.',
    orString(limited(arrayOf(stopString), { maxItems: MAX_STOP_STRINGS })),
    { maxLength: MAX_STOP_STRING_LENGTH },
  ),
  seed: field(
    'The same seed and request give the same completion, up to rounding differences of the hardware; -1 and 4294967295 ' +
      'choose a random seed.',
    integer,
    { minimum: -(2 ** 63), maximum: 2 ** 64 },
  ),
  ignore_eos: field(
    'Continues past the end of text, for benchmarks; a grammar or schema still ends the completion.',
    boolean,
    { default: false },
  ),
  cache_prompt: field('Whether to reuse the cached prefix of the prompt.', boolean, { default: true }),
  cache_salt: field(
    'Reuses only cached prefixes of requests with the same salt (vLLM), so cache hits reveal nothing to other clients.',
    limited(string, { maxLength: MAX_CACHE_SALT }),
  ),
  priority: field(
    'Requests with a higher priority run first, up to the limit of the server; ten seconds of waiting add one level.',
    integer,
    { minimum: -MAX_PRIORITY, maximum: MAX_PRIORITY, default: 0 },
  ),
  lora: field(
    'The adapters to use, by index or name, such as `[{"id": 0, "scale": 0.5}]`. Others have no effect. Default: the adapter that `model` names.',
    requestedAdapters,
  ),
  ...samplerFields,
  ...modelUseFields,
};

const reasoningBudget = limited(integer, { minimum: -1 });

export const conversationFields = {
  grammar: field("A grammar in llama.cpp's GBNF that the completion must match.", string, { minLength: 1 }),
  ...constraintFields,
  chat_template_kwargs: field("Variables of the model's chat template, as in llama.cpp.", anyObject, {
    maxProperties: MAX_TEMPLATE_VARIABLES,
    properties: { enable_thinking: boolean },
    additionalProperties: true,
  }),
  reasoning_budget_tokens: field(
    'Maximum number of reasoning tokens; 0: none; -1: the option of the server.',
    reasoningBudget,
  ),
  thinking_budget_tokens: field('Another name of `reasoning_budget_tokens`, which has precedence.', reasoningBudget),
  reasoning_budget_message: field(
    'Text that is appended when the budget ends the reasoning.',
    limited(string, { maxLength: MAX_REASONING_MESSAGE }),
  ),
};

export const timingsPerToken = field('Reports the timings known so far with each chunk of a stream.', boolean, {
  default: false,
});
export const returnProgress = field('Streams the progress of the prompt until the first token.', boolean, {
  default: false,
});

export const promptLogprobs = field(
  'Number of alternatives to report with each token of the prompt, in the form of vLLM.',
  orNull(limited(integer, { minimum: 0, maximum: MAX_TOP_LOGPROBS })),
);

/** Fields of chats and texts. Responses and messages have some of them under other names. */
export const openAiFields = {
  stream,
  stream_options: field(
    'With `include_usage`, a stream ends with a chunk with the token counts. With `continuous_usage_stats` as well, each chunk has the current counts (vLLM).',
    objectOf({}, { include_usage: orNull(boolean), continuous_usage_stats: orNull(boolean) }),
  ),
  temperature,
  top_p: topP,
  max_tokens: field(
    'Maximum number of tokens of a completion; default, or -1: up to the end of the context.',
    tokenLimit,
  ),
  n_predict: field("llama.cpp's name of `max_tokens`, which has precedence.", tokenLimit),
  timings: field('Reports times and rates of the completion.', boolean, { default: false }),
  timings_per_token: timingsPerToken,
  return_progress: returnProgress,
  n: field('Number of completions.', integer, { minimum: 1, maximum: MAX_CHOICES, default: 1 }),
};

const responseFormat = objectOf(
  { type: oneOf('text', 'json_object', 'json_schema') },
  {
    json_schema: orNull(
      objectOf(
        {},
        { name: orNull(string), description: orNull(string), schema: orNull(jsonSchema), strict: orNull(boolean) },
      ),
    ),
    /** The place of this field in llama.cpp and other servers. */
    schema: orNull(jsonSchema),
  },
);
export const responseFormatField = field(
  'Form of the completion: `text`, `json_object`, or `json_schema` with a schema.',
  responseFormat,
);

const required = { model, messages };

const optional = {
  ...openAiFields,
  ...completionFields,
  max_completion_tokens: field('The newer name of `max_tokens`. It has precedence.', tokenLimit),
  logprobs: field('Reports the log-probabilities of the tokens.', boolean),
  top_logprobs: field('Number of alternatives to report with each token.', integer, {
    minimum: 0,
    maximum: MAX_TOP_LOGPROBS,
  }),
  prompt_logprobs: promptLogprobs,
  verbose: field(
    'Reports prompt, settings and end as `__verbose` (llama-server). Default: the option of the server.',
    boolean,
  ),
  reasoning_control: field('Lets `/v1/chat/completions/control` end this stream or its reasoning.', boolean, {
    default: false,
  }),
  response_format: responseFormatField,
  tools: field('The functions and custom tools that the model may call.', arrayOf(toolSchema)),
  tool_choice: field(
    'Whether the model must call a tool: `none`, `auto`, `required`, or the name of one tool.',
    toolChoiceSchema,
  ),
  parallel_tool_calls: field(
    'Whether a completion may have several calls; default: if the template supports it.',
    boolean,
  ),
  json_schema: field(
    'A JSON schema that the completion must match: an object (llama.cpp) or text (SGLang).',
    orString(jsonSchema),
  ),
  functions: field('The old form of `tools`. Replies use the old form of calls, too.', arrayOf(functionSchema)),
  function_call: field('The old form of `tool_choice`, for `functions`.', functionChoice),
  ...conversationFields,
  continue_final_message: field(
    'If false, a new message begins after a last message of the assistant. Otherwise that message is continued.',
    boolean,
  ),
  echo: field('Whether the reply begins with the continued message; default: unless it is streamed.', boolean),
  add_generation_prompt: field(
    'May be false only if a last message of the assistant is continued, and in `/apply-template`.',
    boolean,
  ),
  reasoning_effort: field(
    'How long the model should reason, if its template supports it; `none` disables reasoning.',
    oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh'),
  ),
};

const fields = { ...required, ...optional };

export type ChatParameter = keyof typeof fields;
export type SentChatCompletion = StaticFields<typeof required, typeof optional>;

interface Translated {
  json_schema?: object;
  /** `grammar` applies after the reasoning. */
  grammarIsOfContent?: true;
  messages: Message[];
  tools?: Tool[];
  tool_choice?: ToolChoice;
}

/** A body after `functionsFor` has replaced its custom tools with functions, and `readConstraints` other constraints. */
export type ChatCompletionRequest = Omit<SentChatCompletion, keyof Translated> & Translated;
export type ResponseFormat = Static<typeof responseFormat>;
export type RequestedAdapter = Static<typeof requestedAdapter>;

/** The names of all fields that at least one mode supports. */
export const CHAT_PARAMETERS = Object.keys(fields) as readonly ChatParameter[];

/** The fields that a mode supports. */
export function parametersOf({
  unsupportedParameters,
}: Pick<Profile, 'unsupportedParameters'>): readonly ChatParameter[] {
  return CHAT_PARAMETERS.filter((name) => !unsupportedParameters.includes(name));
}

/** The schema for a mode that supports `parameters`; it does not check other fields of a body. */
export function chatCompletionSchema(parameters: readonly ChatParameter[]) {
  return objectOf(pickFields(required, parameters), pickFields(optional, parameters));
}
