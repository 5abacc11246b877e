/** `POST /v1/chat/completions/control`: changes a streamed chat completion while it runs. */
import type { FastifyInstance } from 'fastify';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import type { AppContext } from '../../context.js';
import { ownerOf } from '../../shared/owner.js';
import { type ChatControl, type ChatControlReply, chatControlReplySchema, chatControlSchema } from './schema.js';

export function chatControlRoute(app: FastifyInstance, context: AppContext): void {
  const route = bodyRoute(context, chatControlSchema, operation);
  const url = '/v1/chat/completions/control';
  app.post<{ Body: ChatControl }>(url, route, async (request): Promise<ChatControlReply> => {
    const { id, action } = request.body;
    const chat = context.chats.find(id, ownerOf(request, context.isBehindGateway));
    if (chat === undefined) {
      return { success: false, message: 'No stream with this id and `reasoning_control: true` is running.' };
    }
    for (const stream of chat.streams) stream.control?.(action === 'stop' ? 'finish' : 'endReasoning');
    return { success: true };
  });
}

const operation: Operation = {
  id: 'controlChatCompletion',
  tag: 'llama-server',
  summary: 'Ends the reasoning of a running chat completion, or the completion (llama-server).',
  description:
    'For streams with `reasoning_control`. Their chunks contain the id. `reasoning_end` has no effect on a completion that ' +
    'is not reasoning.',
  requestName: 'ChatControl',
  reply: { json: { name: 'ChatControlReply', schema: chatControlReplySchema } },
  examples: () => {
    const id = 'chatcmpl-4b1f6a52c7e94d0f8f3e6d9a7c5b2e10';
    return {
      end: { summary: 'End of the reasoning', request: { id, action: 'reasoning_end' }, reply: { success: true } },
    };
  },
};
