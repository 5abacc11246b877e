/** A server process with the demo model, and its replies. */
import * as assert from 'uvu/assert';
import { type Child, startChild, untilWritten } from '../support/child.js';
import { SHORT_DELAYS } from '../support/engine-process.js';
import { readSse } from '../support/read-sse.js';

export interface Context {
  server: Child;
  url: string;
}

export interface Outcome {
  status: number;
  /** `null`: answered in full. */
  code: string | null;
  retryAfter: string | null;
}

export async function serve(
  args: readonly string[] = [],
  variables: NodeJS.ProcessEnv = SHORT_DELAYS,
): Promise<Context> {
  // A second thread doubles the CPU time of a tiny model.
  const all = ['serve', '--port', '0', '--parallel', '16', '--threads', '1', ...args];
  const server = startChild('ts/cli.ts', all, variables);
  try {
    const [, url = ''] = await untilWritten(server, /^Serving .* at (http:\S+)\/v1$/m);
    return { server, url };
  } catch (error) {
    // No other code stops this server, and the test process would wait for it.
    server.process.kill('SIGKILL');
    throw error;
  }
}

/** `onBegun`: the reply has begun, so the request was prepared. */
export async function ask(url: string, body: object, onBegun?: () => void): Promise<Outcome> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    // Connections that are kept would count among the descriptors.
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'chasqui-demo', temperature: 0, ...body }),
  });
  onBegun?.();
  const text = await response.text();
  const retryAfter = response.headers.get('retry-after');
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    return { status: response.status, code: JSON.parse(text).error?.code ?? null, retryAfter };
  }
  const { events, done } = readSse(text);
  const failed = events.find(({ error }) => error);
  assert.ok(failed || done, 'a stream ends with [DONE] or with an error');
  const roles = events.flatMap(({ choices = [] }) => choices).filter(({ delta }) => delta.role);
  assert.ok(roles.length <= 1, 'nothing is answered twice');
  return { status: response.status, code: failed?.error.code ?? null, retryAfter };
}

/** Half of them stream, the others wait for the whole answer. */
export function question(at: number): object {
  return {
    messages: [{ role: 'user', content: `Count from ${at} to ${at + 40}.` }],
    max_tokens: 80,
    ignore_eos: true,
    stream: at % 2 === 0,
  };
}

export const pidOf = ({ server }: Pick<Context, 'server'>): number => server.process.pid as number;
