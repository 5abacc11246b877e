/** An endpoint that completes like one of OpenAI's, and adds fields to the replies. */

import type { ModelInfo, TokenStream } from '../../../engine/engine.js';
import type { Operation } from '../../../http/openapi/operation.js';
import type { EventEncoder } from './stream-reply.js';

/** The extension of one request. */
export interface CompletionExtension {
  extend<Reply extends { choices: readonly { finish_reason: string | null }[] }>(reply: Reply): Reply;
  extendChunks(chunks: EventEncoder): EventEncoder;
}

export interface ExtendedEndpoint {
  url: string;
  operation: Operation;
  extension(model: ModelInfo, streams: readonly TokenStream[]): CompletionExtension;
}
