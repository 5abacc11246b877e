/**
 * Valid requests that this server cannot obey. Ignoring them would change the answer without a word, so each is a 400
 * that names the field. A value that asks for nothing (`tools: []`, `n: 1`) passes.
 */
import { ChasquiError } from '../errors.js';
import type { ChatCompletionRequest } from '../schemas/chat-completion.js';
import type { Message } from '../schemas/message.js';

export function refuseUnsupported(body: ChatCompletionRequest): void {
  if ((body.top_logprobs ?? 0) > 0 && body.logprobs !== true) {
    throw new ChasquiError('invalid_value', '`top_logprobs` needs `logprobs: true` beside it.', 'top_logprobs');
  }
  if ((body.tools ?? []).length > 0) throw unsupported('tools', 'Tool calls');
  if ((body.functions ?? []).length > 0) throw unsupported('functions', 'Function calls');
  if ((body.response_format?.type ?? 'text') !== 'text') {
    throw unsupported('response_format', 'Response formats other than {"type": "text"}');
  }
  body.messages.forEach(refuseToolCalls);
}

function refuseToolCalls(message: Message, index: number): void {
  if (message.role === 'assistant' && (message.tool_calls ?? []).length > 0) {
    throw unsupported(`messages[${index}].tool_calls`, 'Tool calls');
  }
}

function unsupported(param: string, what: string): ChasquiError {
  return new ChasquiError(
    'unsupported_parameter',
    `${what} are not supported by this server: leave \`${param}\` out.`,
    param,
  );
}
