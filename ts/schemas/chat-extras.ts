/** Settings of the chat endpoint that other protocols do not have; their endpoints take them under the same names. */
import { type ChatCompletionRequest, type ChatParameter, chatCompletionSchema } from './chat-completion.js';

export const CHAT_EXTRAS = [
  'top_k',
  'min_p',
  'repetition_penalty',
  'repeat_penalty',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'seed',
  'stop',
  'ignore_eos',
  'cache_prompt',
  'priority',
  'grammar',
  'chat_template_kwargs',
  'lora',
  'keep_alive',
  'ttl',
] as const satisfies readonly ChatParameter[];

export type ChatExtra = (typeof CHAT_EXTRAS)[number];

/** The extras that a mode supports, given all parameters that it supports in chat bodies. */
export function chatExtras(parameters: readonly ChatParameter[]): ChatExtra[] {
  return CHAT_EXTRAS.filter((name) => parameters.includes(name));
}

/** Maps the name of each extra to its schema. */
export function chatExtraSchemas(parameters: readonly ChatParameter[]): Record<string, object> {
  return (chatCompletionSchema(chatExtras(parameters)) as { properties: Record<string, object> }).properties;
}

/** The values of a request's extras. */
export function pickExtras(request: Pick<ChatCompletionRequest, ChatExtra>): Partial<ChatCompletionRequest> {
  const picked = CHAT_EXTRAS.filter((name) => request[name] !== undefined).map((name) => [name, request[name]]);
  return Object.fromEntries(picked);
}
