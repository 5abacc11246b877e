/** Public `createFetch`. */
import { Readable } from 'node:stream';
import type { Engine } from '../engine/engine.js';
import type { InjectedRequests } from '../http/injected-requests.js';
import { openModelApp } from './model-app.js';

/** Statuses without a body. */
const WITHOUT_BODY = [204, 205, 304];

/**
 * Returns a `fetch` that the model answers, without a port: `new OpenAI({ apiKey: '', fetch: createFetch(model) })`. It has
 * the endpoints of `chasqui serve`, ignores the host of URLs, and accepts any model name. An abort, or cancelling the body,
 * frees the sequence. The promise rejects only with the reason of an abort; other errors are responses.
 */
export function createFetch(model: Engine): typeof fetch {
  let injected: Promise<InjectedRequests> | undefined;
  return async (input, init) => {
    const request = new Request(input, init);
    const { signal, method, url } = request;
    signal.throwIfAborted();
    injected ??= openInjected(model);
    const [requests, payload] = await Promise.all([injected, request.arrayBuffer()]);
    const { pathname, search } = new URL(url);
    const left = new AbortController();
    const call = {
      method: method as 'POST',
      url: pathname + search,
      headers: { ...Object.fromEntries(request.headers), host: 'localhost' },
      payloadAsStream: true as const,
      ...(payload.byteLength > 0 && { payload: Buffer.from(payload) }),
    };
    try {
      const reply = await requests.send(call, AbortSignal.any([signal, left.signal]));
      return toResponse(reply, () => left.abort());
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  };
}

async function openInjected(model: Engine): Promise<InjectedRequests> {
  const { InjectedRequests } = await import('../http/injected-requests.js');
  let injected: InjectedRequests | undefined;
  await openModelApp(model, {
    guard: (app) => {
      injected = new InjectedRequests(app);
    },
  });
  return injected as InjectedRequests;
}

interface Reply {
  statusCode: number;
  headers: Readonly<Record<string, number | string | string[] | undefined>>;
  stream(): Readable;
}

function toResponse({ statusCode: status, headers, stream }: Reply, leave: () => void): Response {
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((each) => [name, `${each}`]),
  );
  const body = stream();
  body.once('close', leave);
  const isEmpty = WITHOUT_BODY.includes(status);
  if (isEmpty) body.resume();
  return new Response(isEmpty ? null : (Readable.toWeb(body) as ReadableStream), {
    status,
    headers: pairs as [string, string][],
  });
}
