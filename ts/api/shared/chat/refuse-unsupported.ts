/**
 * Valid requests that this server cannot obey, or that are more than it takes on. Ignoring them would silently change
 * the completion, so each is a 400 that names the field. A value that asks for nothing (`functions: []`) passes.
 */
import type { ModelInfo } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import type { ChatCompletionRequest } from './chat-schema.js';
import { callsOf } from './message-schema.js';

/**
 * Messages and the tool calls in them. The template runs for each, and each takes some tokens even when it is empty, so
 * longer conversations fit into few contexts and take seconds to render.
 */
export const MAX_MESSAGES = 8192;

/** Templates show all of them to the model, and grammars are made for each. */
export const MAX_TOOLS = 1024;

export function refuseUnsupported(body: ChatCompletionRequest, model: ModelInfo): void {
  refuseTooMany(body);
  if ((body.top_logprobs ?? 0) > 0 && body.logprobs !== true) {
    throw new ChasquiError('invalid_value', '`top_logprobs` needs `logprobs: true` beside it.', 'top_logprobs');
  }
  if ((body.functions ?? []).length > 0) {
    throw unsupported('functions', 'Function calls by `functions` are not supported: offer them as `tools`.');
  }
  body.messages.forEach((message, index) => {
    if (message.role !== 'assistant' || callsOf(message).length === 0) return;
    const path = `messages[${index}].${message.tool_calls?.length ? 'tool_calls' : 'function_call'}`;
    if (!model.takesTools) {
      throw unsupported(
        path,
        `The chat template of \`${model.id}\` has no form for tool calls: leave \`${path}\` out.`,
      );
    }
    if (index === body.messages.length - 1) {
      throw unsupported(path, 'A message that ends with a tool call cannot be continued: add the result of the call.');
    }
  });
  if (body.messages.at(-1)?.role === 'assistant') {
    if (body.continue_final_message !== false) refuseTwoAssistantMessages(body);
    refuseBoth(body);
  } else if (body.continue_final_message || body.add_generation_prompt === false) {
    refuseContinuing(body);
  }
}

/** The one begins a message, the other goes on with the last; vLLM and llama-server refuse both together, too. */
function refuseBoth({ continue_final_message: continues, add_generation_prompt: begins }: ChatCompletionRequest): void {
  if (!continues || !begins) return;
  throw new ChasquiError(
    'invalid_value',
    '`continue_final_message` and `add_generation_prompt` exclude each other: leave out one of them.',
    'continue_final_message',
  );
}

/** Only a message of the assistant's can be continued. */
function refuseContinuing(body: ChatCompletionRequest): void {
  if (body.continue_final_message) {
    throw new ChasquiError(
      'invalid_value',
      "`continue_final_message` needs a last message of the assistant's: add the beginning of the completion.",
      'continue_final_message',
    );
  }
  if (body.add_generation_prompt === false) {
    throw unsupported(
      'add_generation_prompt',
      "`add_generation_prompt` cannot be false here: a completion goes on with a message of the assistant's only.",
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
  return new ChasquiError('invalid_value', `\`${param}\` holds ${what}, but at most ${max} are taken.`, param);
}

/** A last message of the assistant is continued; another one before it would be lost in most templates. */
function refuseTwoAssistantMessages({ messages }: ChatCompletionRequest): void {
  if (messages.at(-1)?.role !== 'assistant' || messages.at(-2)?.role !== 'assistant') return;
  const path = `messages[${messages.length - 1}]`;
  throw unsupported(
    path,
    `\`${path}\` follows another message of the assistant and cannot be continued: join the two.`,
  );
}

function unsupported(param: string, message: string): ChasquiError {
  return new ChasquiError('unsupported_parameter', message, param);
}
