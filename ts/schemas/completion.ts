/** The body of `POST /v1/completions`: a text is continued as it is, without a chat template. */
import {
  type ChatCompletionRequest,
  type ChatParameter,
  chatCompletionSchema,
  MAX_CHOICES,
} from './chat-completion.js';
import { type TextInputs, textInputsSchema } from './text-input.js';

/** Fields that mean the same here as in a chat. */
const SHARED = [
  'model',
  'stream',
  'stream_options',
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'repetition_penalty',
  'repeat_penalty',
  'presence_penalty',
  'frequency_penalty',
  'max_tokens',
  'stop',
  'seed',
  'n',
  'logit_bias',
  'ignore_eos',
  'cache_prompt',
  'priority',
  'lora',
  'keep_alive',
  'ttl',
] as const satisfies ChatParameter[];

export interface CompletionRequest extends Pick<ChatCompletionRequest, (typeof SHARED)[number]> {
  /** One text or several, as characters or as tokens; each gets `n` choices. */
  prompt: TextInputs;
  /** What comes after the gap that is to be filled. */
  suffix?: string;
  /** Begins each choice with its prompt. */
  echo?: boolean;
  /** More than `n` is refused, because the server does not generate choices that it would then discard. */
  best_of?: number;
  /** How many alternatives to report with each token. */
  logprobs?: number;
}

export const MAX_COMPLETION_LOGPROBS = 20;

const own = {
  prompt: textInputsSchema,
  suffix: { type: 'string' },
  echo: { type: 'boolean' },
  best_of: { type: 'integer', minimum: 1, maximum: MAX_CHOICES },
  logprobs: { type: 'integer', minimum: 0, maximum: MAX_COMPLETION_LOGPROBS },
};

/** The schema for a mode whose chats support `parameters`. */
export function completionSchema(parameters: readonly ChatParameter[]): { properties: object } {
  const shared = chatCompletionSchema(SHARED.filter((name) => parameters.includes(name)));
  return {
    ...shared,
    ...{ required: ['model', 'prompt'] },
    properties: { ...(shared as { properties: object }).properties, ...own },
  };
}
