/** Refuses fields that this server cannot obey and that would change the completion, or ask for it to be stored. */
import { ChasquiError } from '../errors.js';
import type { ResponsesRequest } from '../schemas/responses.js';

const NOTHING_IS_STORED = 'no response or conversation is stored here: send all earlier items in `input`';

export function refuseUnsupported(request: ResponsesRequest): void {
  refuse(request, 'previous_response_id', NOTHING_IS_STORED);
  refuse(request, 'conversation', NOTHING_IS_STORED);
  refuse(request, 'prompt', 'no prompts are stored here: send `instructions` and `input`');
  if (request.background) refuse(request, 'background', 'responses are not computed in the background');
}

function refuse(request: ResponsesRequest, param: keyof ResponsesRequest, reason: string): void {
  if (request[param] === undefined) return;
  throw new ChasquiError('unsupported_parameter', `\`${param}\` is not supported: ${reason}.`, param);
}
