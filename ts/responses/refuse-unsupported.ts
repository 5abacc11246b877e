/** Refuses fields that this server cannot obey and that would change the completion, or where it is to be found. */
import { ChasquiError } from '../errors.js';
import type { ResponsesRequest } from '../schemas/responses.js';

export function refuseUnsupported(request: ResponsesRequest): void {
  refuse(request, 'conversation', 'conversations are not stored here: name the previous response');
  refuse(request, 'prompt', 'no prompts are stored here: send `instructions` and `input`');
  if (!request.background) return;
  if (request.stream) refuse(request, 'stream', 'a response in the background is asked for by its id');
  if (request.store === false) refuse(request, 'background', 'it needs `store`, so that the response can be asked for');
}

function refuse(request: ResponsesRequest, param: keyof ResponsesRequest, reason: string): void {
  if (request[param] === undefined) return;
  throw new ChasquiError('unsupported_parameter', `\`${param}\` is not supported: ${reason}.`, param);
}

/** For servers that refuse what they would pass over: the first of these paths is an error. */
export function refusePassedOver([path]: readonly string[]): void {
  if (path === undefined) return;
  throw new ChasquiError('unsupported_parameter', `\`${path}\` is nothing that this server can do or enforce.`, path);
}
