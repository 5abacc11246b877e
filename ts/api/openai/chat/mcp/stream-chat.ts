/** The replies of the loop: whole, or as chunks. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AppContext } from '../../../context.js';
import type { SentChatCompletion } from '../../../shared/chat/chat-schema.js';
import type { ChatCompletion } from '../../../shared/completion/chat-reply-schema.js';
import { DONE, dataFailure, streamEvents } from '../../../shared/completion/stream-reply.js';
import type { Leased } from '../../../shared/with-model.js';
import { ChatLoop } from './chat-loop.js';

type Request = FastifyRequest<{ Body: SentChatCompletion }>;

export async function completeWithServers(
  request: Request,
  reply: FastifyReply,
  leased: Leased,
  context: AppContext,
): Promise<ChatCompletion | undefined> {
  const loop = new ChatLoop(request, leased, context);
  await loop.prepare(reply);
  if (!request.body.stream) return loop.run();
  const { signal } = leased;
  return streamEvents(request, reply, { signal, fail: dataFailure }, context.options, async (events) => {
    await sendChunks(request, loop, (chunks) => (events.write(chunks) ? undefined : events.drained()));
    events.write(DONE);
  });
}

type Write = (chunks: readonly string[]) => Promise<void> | undefined;

async function sendChunks({ body }: Request, loop: ChatLoop, write: Write): Promise<void> {
  const includesUsage = body.stream_options?.include_usage ?? false;
  const chunk = (fields: object) => JSON.stringify({ ...loop.head, object: 'chat.completion.chunk', ...fields });
  const choice = (delta: object, logprobs: object | null = null, finish_reason: string | null = null) =>
    chunk({
      choices: [{ index: 0, delta: { content: null, ...delta }, logprobs, finish_reason }],
      ...(includesUsage && { usage: null }),
    });
  let isFirst = true;
  const begin = (): string[] => {
    const first = isFirst ? [choice({ role: 'assistant' })] : [];
    isFirst = false;
    return first;
  };
  const completion = await loop.run((deltas) => {
    const chunks = deltas.flatMap(({ content, reasoning_content, logprobs }) => {
      if (content === undefined && reasoning_content === undefined) return [];
      const delta = { content: content ?? null, ...(reasoning_content !== undefined && { reasoning_content }) };
      return choice(delta, logprobs === undefined ? null : { content: logprobs, refusal: null });
    });
    return write(chunks.length === 0 ? [] : [...begin(), ...chunks]);
  });
  const [last] = completion.choices;
  const calls = last?.message.tool_calls?.map((call, index) => ({ index, ...call }));
  await write([
    ...begin(),
    ...(calls === undefined ? [] : [choice({ tool_calls: calls })]),
    choice({}, null, last?.finish_reason ?? 'stop'),
    ...(includesUsage ? [chunk({ choices: [], usage: completion.usage })] : []),
  ]);
}
