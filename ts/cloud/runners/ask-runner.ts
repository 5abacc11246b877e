/** Requests of the control plane to a runner: warm-up and health. */
import http from 'node:http';
import { isOutOfFiles, outOfFiles } from '../../process/open-files.js';
import type { RunnerModel } from './protocol.js';

const WARM_UP_MS = 60_000;
const HEALTH_MS = 5000;
const MAX_REPLY_BYTES = 1 << 20;

interface Reply {
  status: number;
  body: unknown;
}

/** Makes each model compute one token, embedding or score. Rejects with the error of the runner. */
export async function warmUp(socketPath: string, models: readonly RunnerModel[]): Promise<void> {
  for (const model of models) await warmUpModel(socketPath, model);
}

async function warmUpModel(socketPath: string, model: RunnerModel): Promise<void> {
  const { id } = model;
  const [url, body] = model.generates
    ? ['/v1/completions', { model: id, prompt: 'Hi', max_tokens: 1 }]
    : model.pooling === 'rank'
      ? ['/v1/rerank', { model: id, query: 'Hi', documents: ['Hi'] }]
      : ['/v1/embeddings', { model: id, input: 'Hi' }];
  const reply = await ask(socketPath, 'POST', url as string, body, WARM_UP_MS);
  if (reply.status !== 200) throw new Error(messageOf(reply));
}

export interface RunnerHealth {
  active: number;
  queued: number;
}

/**
 * Resolves with null without a reply. Rejects with the reason if the engine has failed, and with `too_many_open_files`
 * if no connection can be opened.
 */
export async function fetchHealth(socketPath: string): Promise<RunnerHealth | null> {
  const reply = await ask(socketPath, 'GET', '/health', undefined, HEALTH_MS).catch((error) => {
    if (isOutOfFiles(error)) throw outOfFiles('Could not connect to the runner', error);
    return null;
  });
  if (reply === null) return null;
  const body = reply.body as { active?: unknown; queued?: unknown; error?: { code?: string } } | null;
  if (body?.error?.code === 'engine_failed') throw new Error(messageOf(reply));
  return { active: countOf(body?.active), queued: countOf(body?.queued) };
}

function countOf(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : 0;
}

function messageOf({ status, body }: Reply): string {
  const { error } = (body ?? {}) as { error?: { message?: string } };
  return error?.message ?? `the reply had status ${status}`;
}

function ask(socketPath: string, method: string, url: string, body: unknown, limitMs: number): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const request = http.request({
      socketPath,
      method,
      path: url,
      agent: false,
      headers: { host: 'localhost', ...(text !== undefined && { 'content-type': 'application/json' }) },
      signal: AbortSignal.timeout(limitMs),
    });
    request.on('error', reject);
    request.on('response', (response) => {
      let received = '';
      response.setEncoding('utf8');
      response.on('data', (data: string) => {
        received += data;
        if (received.length > MAX_REPLY_BYTES) request.destroy(new Error('the reply is too long'));
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: parse(received) }));
    });
    request.end(text);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
