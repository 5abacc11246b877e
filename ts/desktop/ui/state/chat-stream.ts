/** Streams a chat completion. */
import type { ChatMessage } from '../../api-types.js';
import { ApiError, send } from './api.js';

export interface Completion {
  content: string;
  reasoning: string;
  finishReason: string | null;
  promptTokens: number | null;
  completionTokens: number | null;
  cachedTokens: number | null;
  tokensPerSecond: number | null;
  firstTokenMs: number | null;
}

interface Chunk {
  choices?: { delta?: { content?: string | null; reasoning_content?: string }; finish_reason?: string | null }[];
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens: number };
  } | null;
  timings?: { predicted_per_second: number | null };
  error?: { message: string; code: string | null };
}

export interface ChatRequest {
  model: string;
  systemPrompt: string;
  settings: Readonly<Record<string, unknown>>;
  branch: readonly ChatMessage[];
}

/** Calls `onProgress` with each event; resolves when the stream is complete. */
export async function streamCompletion(
  request: ChatRequest,
  signal: AbortSignal,
  onProgress: (completion: Completion) => void,
): Promise<void> {
  const started = performance.now();
  const reply = await send('/app/v1/chat/completions', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(bodyOf(request)),
    signal,
  });
  const completion: Completion = {
    content: '',
    reasoning: '',
    finishReason: null,
    promptTokens: null,
    completionTokens: null,
    cachedTokens: null,
    tokensPerSecond: null,
    firstTokenMs: null,
  };
  for await (const data of eventsOf(reply)) {
    if (data === '[DONE]') return;
    const chunk = JSON.parse(data) as Chunk;
    if (chunk.error) throw new ApiError(chunk.error.message, chunk.error.code, reply.status);
    take(completion, chunk, started);
    onProgress(completion);
  }
  throw new ApiError('The connection closed before the completion was finished.', 'stream_ended', reply.status);
}

function take(completion: Completion, { choices, usage, timings }: Chunk, started: number): void {
  const { delta, finish_reason } = choices?.[0] ?? {};
  const text = (delta?.content ?? '') + (delta?.reasoning_content ?? '');
  if (text && completion.firstTokenMs === null) completion.firstTokenMs = performance.now() - started;
  completion.content += delta?.content ?? '';
  completion.reasoning += delta?.reasoning_content ?? '';
  completion.finishReason = finish_reason ?? completion.finishReason;
  completion.tokensPerSecond = timings?.predicted_per_second ?? completion.tokensPerSecond;
  if (!usage) return;
  completion.promptTokens = usage.prompt_tokens;
  completion.completionTokens = usage.completion_tokens;
  completion.cachedTokens = usage.prompt_tokens_details?.cached_tokens ?? null;
}

function bodyOf({ model, systemPrompt, settings, branch }: ChatRequest): object {
  const system = systemPrompt.trim() ? [{ role: 'system', content: systemPrompt }] : [];
  return {
    ...settings,
    model,
    messages: [...system, ...branch.map(toRequestMessage)],
    stream: true,
    stream_options: { include_usage: true },
    timings: true,
  };
}

function toRequestMessage({ role, content, images = [] }: ChatMessage): object {
  if (images.length === 0) return { role, content };
  const parts = images.map((url) => ({ type: 'image_url', image_url: { url } }));
  return { role, content: [...(content ? [{ type: 'text', text: content }] : []), ...parts] };
}

/** Parses server-sent events; skips comments. */
async function* eventsOf(reply: Response): AsyncGenerator<string> {
  if (!reply.body) return;
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const lines = event.split('\n').filter((line) => line.startsWith('data:'));
      if (lines.length > 0) yield lines.map((line) => line.slice(5).trimStart()).join('\n');
    }
  }
}
