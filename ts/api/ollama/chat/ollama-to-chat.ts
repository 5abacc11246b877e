/** Converts bodies of Ollama's requests to equivalent chat bodies. */

import { type ChasquiError, unsupportedParameter } from '../../../errors.js';
import { type ChatTranslation, FieldOrigins } from '../../shared/chat/field-origins.js';
import type { Message } from '../../shared/chat/message-schema.js';
import type { OllamaChatRequest, OllamaGenerateRequest } from '../schema.js';
import { toMessages, toUserMessage } from './to-messages.js';
import { toSettings } from './to-settings.js';

export function chatToChat(request: OllamaChatRequest): ChatTranslation {
  const origins = new FieldOrigins();
  const { model, messages = [], tools } = request;
  const translated = toMessages(messages, origins);
  return {
    body: { model, messages: translated, ...(tools && { tools }), ...toSettings(request, origins) },
    origins,
  };
}

/** For a request that is not `raw`: its prompt is the message of a user. */
export function generateToChat(request: OllamaGenerateRequest): ChatTranslation {
  const origins = new FieldOrigins();
  const { model, prompt = '', system, images = [] } = request;
  const messages: Message[] = system ? [{ role: 'system', content: system }] : [];
  origins.set('messages', 'prompt');
  messages.push(toUserMessage(prompt, images, { index: messages.length, origin: '' }, origins));
  return { body: { model, messages, ...toSettings(request, origins) }, origins };
}

/** Refuses fields that would change the completion but are not supported. Values without effect pass. */
export function refuseUnsupported(request: OllamaGenerateRequest): void {
  if (request.template) {
    throw unsupported(
      'template',
      "the server only uses the template of the model's file. Send a rendered prompt with `raw`",
    );
  }
  if ((request.context ?? []).length > 0) {
    throw unsupported('context', 'the server stores no contexts. Send the conversation to `/api/chat`');
  }
  if (request.images?.length && isText(request)) {
    throw unsupported('images', 'raw texts do not accept it. Omit `raw` and `suffix`');
  }
  if (request.system && isText(request)) {
    throw unsupported('system', 'raw texts do not accept it. Omit `raw` and `suffix`');
  }
  if (request.format && isText(request)) {
    throw unsupported('format', 'raw texts do not accept it. Omit `raw` and `suffix`');
  }
}

/** Whether the prompt is continued as it is, without a chat template. */
export function isText({ raw, suffix }: Pick<OllamaGenerateRequest, 'raw' | 'suffix'>): boolean {
  return raw === true || (suffix !== undefined && suffix !== '');
}

function unsupported(param: string, why: string): ChasquiError {
  return unsupportedParameter(`\`${param}\` is not supported: ${why}.`, param);
}
