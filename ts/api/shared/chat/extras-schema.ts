/** Settings of the chat endpoint that other protocols do not have; their endpoints take them under the same names. */

import { pickFields } from '../../../http/schema/json-schema.js';
import { type ChatCompletionRequest, completionFields, conversationFields } from './chat-schema.js';

const extras = { ...completionFields, ...conversationFields };

export type ChatExtra = keyof typeof extras;

/** The extras that a mode supports, given all parameters that it supports in chat bodies. */
export function chatExtras(parameters: readonly string[]): typeof extras {
  return pickFields(extras, parameters);
}

export function pickExtras(request: Partial<Pick<ChatCompletionRequest, ChatExtra>>): Partial<ChatCompletionRequest> {
  const names = Object.keys(extras) as ChatExtra[];
  return Object.fromEntries(names.filter((name) => request[name] !== undefined).map((name) => [name, request[name]]));
}
