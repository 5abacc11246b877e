// The examples of the OpenAPI document, replayed against a real server.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Job } from '../../ts/engine/job.js';
import type { OpenApiDocument } from '../../ts/http/openapi/document.js';
import { testApp } from '../support/build-app.js';
import { finishOf } from '../support/fake-engine.js';
import { readJson } from '../support/read-json.js';
import { type RunningServer, startServer } from '../support/start-server.js';
import { until } from '../support/until.js';

const test = suite('conformance: examples');

type Examples = Record<string, { value: Record<string, unknown> }> | undefined;

let server: RunningServer;
let document: OpenApiDocument;
test.before(async () => {
  server = await startServer(['--ctx-size', '512', '--threads', '1']);
  document = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApiDocument;
});
test.after(() => server.stop());

interface Operation {
  method: string;
  path: string;
  requests: Examples;
  /** By media type. */
  replies: Record<string, Examples>;
}

/** Without those of audio, which the demo model cannot hear. */
function operations(): Operation[] {
  const paths = Object.entries(document.paths).filter(([path]) => !path.includes('/audio/'));
  return paths.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      // biome-ignore lint/suspicious/noExplicitAny: the document is JSON
      const { requestBody, responses } = operation as any;
      const contents = Object.entries((responses[200] ?? responses[204]).content) as [string, { examples: Examples }][];
      return {
        method: method.toUpperCase(),
        path,
        requests: requestBody?.content['application/json']?.examples,
        replies: Object.fromEntries(contents.map(([type, { examples }]) => [type, examples])),
      };
    }),
  );
}

/** Fills in path parameters with the id of a new response or conversation. */
async function filledIn(path: string): Promise<string> {
  if (!path.startsWith('/v1/conversations/')) return path.replace('{id}', await idFor(path));
  const items = [{ role: 'user', content: 'Count from 3 to 6' }];
  const { id } = await readJson(await send('POST', '/v1/conversations', { items }));
  const { first_id } = await readJson(await send('GET', `/v1/conversations/${id}/items`));
  return path.replace('{id}', id).replace('{item_id}', first_id);
}

async function idFor(path: string): Promise<string> {
  if (path.startsWith(FILES)) return (await readJson(await upload())).id;
  if (path.startsWith(`${BATCHES}/`)) {
    // Many requests, so that the batch still runs when it is cancelled.
    const created = await createBatch({ endpoint: '/v1/chat/completions' }, path.endsWith('/cancel') ? 500 : 1);
    return (await readJson(created)).id;
  }
  if (!path.startsWith('/v1/responses/')) return 'chasqui-demo';
  const body = {
    model: 'chasqui-demo',
    input: 'Count from 3 to 6',
    temperature: 0,
    background: path.endsWith('/cancel'),
  };
  return (await readJson(await send('POST', '/v1/responses', body))).id;
}

const FILES = '/v1/files';

const BATCHES = '/v1/batches';

/** A single request is awaited, because the list of models shows running requests. */
async function createBatch(example: object, count: number): Promise<Response> {
  const body = { model: 'chasqui-demo', messages: [{ role: 'user', content: 'Count from 3 to 6' }] };
  const lines = Array.from({ length: count }, (_, at) => ({ custom_id: `${at}`, url: '/v1/chat/completions', body }));
  const { id: input_file_id } = await readJson(await upload(lines.map((line) => JSON.stringify(line)).join('\n')));
  const reply = await fetch(server.url + BATCHES, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...example, input_file_id }),
  });
  if (count > 1) return reply;
  const { id } = await readJson(reply.clone());
  const read = async () => readJson(await fetch(`${server.url}${BATCHES}/${id}`));
  await until(async () => (await read()).status === 'completed', 'the batch is completed');
  return reply;
}

const CONTROL = '/v1/chat/completions/control';

/** Controls a running stream. */
async function control(example: object): Promise<Response> {
  const messages = [{ role: 'user', content: 'Hi' }];
  const options = { stream: true, reasoning_control: true, ignore_eos: true };
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'chasqui-demo', messages, ...options });
  const stream = await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body });
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
  const first = new TextDecoder().decode((await reader.read()).value);
  const [, id] = /"id":"([^"]+)"/.exec(first) ?? [];
  const changed = JSON.stringify({ ...example, id });
  const reply = await fetch(server.url + CONTROL, { method: 'POST', headers, body: changed });
  await reader.cancel();
  return reply;
}

function upload(content = 'Hello'): Promise<Response> {
  const body = new FormData();
  body.set('file', new Blob([content]), 'hello.txt');
  return fetch(server.url + FILES, { method: 'POST', body });
}

async function send(method: string, path: string, body?: object): Promise<Response> {
  if (path === FILES) {
    const uploaded = await upload();
    if (method === 'POST') return uploaded;
  }
  if (path === '/v1/stream') {
    const chat = { model: 'chasqui-demo', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1, stream: true };
    const headers = { 'content-type': 'application/json', 'x-conversation-id': 'chat' };
    const body = JSON.stringify(chat);
    await (await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body })).text();
    return fetch(`${server.url}${path}?conv_id=chat`, { method });
  }
  if (path === BATCHES && body !== undefined) return createBatch(body, 1);
  if (path === CONTROL && body !== undefined) return control(body);
  const url = server.url + (path.includes('{id}') ? await filledIn(path) : path);
  if (body === undefined) return fetch(url, { method });
  return fetch(url, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}

test('every endpoint with a body has an example, and each is answered as its reply shows', async () => {
  for (const { method, path, requests, replies } of operations()) {
    if (method === 'POST' && !path.endsWith('/cancel') && path !== FILES)
      assert.ok(Object.keys(requests ?? {}).length > 0, path);
    for (const [name, { value }] of Object.entries(requests ?? {})) {
      // The demo model neither ranks nor fills gaps: for that there is only the engine that tests are made with.
      const reply = NOT_DEMO.includes(path) ? await sendToFake(path, value) : await send(method, path, value);
      const text = await reply.text();
      assert.is(reply.status, 200, `${method} ${path}, ${name}: ${text}`);
      const shown = replies[(reply.headers.get('content-type') ?? '').split(';')[0] as string]?.[name]?.value;
      assert.ok(shown, `${method} ${path} shows no reply to ${name}`);
      if (value.stream === true) assertAmong(eventsIn(text), shown, `${method} ${path}, ${name}`);
      else assert.equal(shapeOf(JSON.parse(text)), shapeOf(shown), `${method} ${path}, ${name}`);
    }
  }
});

test('endpoints without a body answer as shown', async () => {
  // An example has had the model unloaded; a request has it loaded again.
  await send('POST', '/v1/completions', { model: 'chasqui-demo', prompt: 'Hi', max_tokens: 1 });
  for (const { method, path, replies } of operations().filter(({ requests }) => requests === undefined)) {
    const reply = await send(method, path);
    assert.ok([200, 204].includes(reply.status), path);
    if (reply.status === 204) continue;
    const type = (reply.headers.get('content-type') ?? '').split(';')[0] as string;
    assert.ok(type in replies, `${path} answered with ${type}`);
    const text = type === 'text/event-stream' ? await firstEventOf(reply) : await reply.text();
    for (const { value } of Object.values(replies[type] ?? {})) {
      assert.equal(shapeOf(JSON.parse(text)), shapeOf(value), path);
    }
  }
});

/** First event of an endless stream. */
async function firstEventOf(reply: Response): Promise<string> {
  let text = '';
  for await (const part of reply.body as ReadableStream<Uint8Array>) {
    text += Buffer.from(part).toString();
    const [, event] = /^data: (.*)\n\n/m.exec(text) ?? [];
    if (event !== undefined) return event;
  }
  return text;
}

const NOT_DEMO = ['/v1/rerank', '/v2/rerank', '/v1/reranking', '/rerank', '/reranking', '/infill'];

async function sendToFake(url: string, body: object): Promise<Response> {
  const timings = { queuedMs: 1, promptMs: 1, predictedMs: 1 };
  const batches = (job: Job) => [[{ text: 'x', finish: finishOf(job.prompt.length, 2, { timings }) }]];
  const { app } = testApp({ batches, model: { pooling: url.includes('/rerank') ? 'rank' : 'mean' } });
  const headers = { 'content-type': 'application/json' };
  const payload = JSON.stringify({ ...body, model: 'fake' });
  const reply = await app.inject({ method: 'POST', url, headers, payload });
  return new Response(reply.body, { status: reply.statusCode, headers });
}

/** Names and types all the way down; of an array, its first item. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  const entries = Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)] as const);
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Parses named events, unnamed events, and JSON lines. */
function eventsIn(stream: string): unknown[] {
  return [...stream.matchAll(/^(?:data: | *)(\{.*\})$/gm)].map(([, json]) => JSON.parse(json as string));
}

function assertAmong(events: unknown[], shown: unknown, what: string): void {
  const wanted = JSON.stringify(shapeOf(shown));
  assert.ok(
    events.some((event) => JSON.stringify(shapeOf(event)) === wanted),
    `${what}: no event is like ${JSON.stringify(shown)}`,
  );
}

test.run();
