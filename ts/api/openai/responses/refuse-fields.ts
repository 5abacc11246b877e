/** Refuses fields that this server cannot obey and that would change the completion, or where it is to be found. */
import { ChasquiError } from '../../../errors.js';
import type { ResponsesRequest } from './schema.js';

export function refuseUnsupported(request: ResponsesRequest): void {
  refuse(request, 'prompt', 'no prompts are stored here: send `instructions` and `input`');
  if (request.conversation !== undefined && request.previous_response_id !== undefined) {
    const message = '`conversation` and `previous_response_id` cannot be used together: each says what came before.';
    throw new ChasquiError('invalid_value', message, 'conversation');
  }
  if (request.background && request.store === false) {
    refuse(request, 'background', 'it needs `store`, so that the response can be asked for');
  }
}

function refuse(request: ResponsesRequest, param: keyof ResponsesRequest, reason: string): void {
  if (request[param] === undefined) return;
  throw new ChasquiError('unsupported_parameter', `\`${param}\` is not supported: ${reason}.`, param);
}
