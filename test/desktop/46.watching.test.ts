// What the Developer view watches: requests as they run, the plots, the log; and pages that do not read.
import net from 'node:net';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pageKeyFor } from '../../ts/desktop/guard.js';
import { ENDLESS, ENDLESS_CONTEXT, MODEL } from '../support/long-answer.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const watching = suite('watching the server');
let app: RunningDesktop;
let address = '';

watching.before(async () => {
  app = await startDesktop();
  const { port } = await app.done('POST', '/api/v1/server/start', { model: MODEL, port: 0 });
  address = `http://127.0.0.1:${port}`;
});

watching.after(async () => {
  await app.stop();
  removeFolder(app.folder);
});

interface Row {
  id: string;
  state: string;
  client: string;
  model: string | null;
  requested: string | null;
  prefill: number;
  promptTokens: number;
  completionTokens: number;
  tokensPerSecond: number | null;
  status: number | null;
  error: string | null;
  ttftMs: number | null;
}

async function rows(): Promise<Row[]> {
  return (await app.done('GET', '/api/v1/requests')).requests;
}

function ask(fields: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'a-test/1', ...headers },
    body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'Tell me a story.' }], ...fields }),
  });
}

watching('a request is seen from its beginning to its end, with what it took', async () => {
  const events = await app.watch();
  const reply = await ask({ stream: true, max_tokens: 200, ignore_eos: true });
  await reply.text();
  await until(() => events.seen.some(({ name, data }) => name === 'request' && data.state === 'done'), 'its end');
  events.close();
  const seen: Row[] = events.seen.flatMap(({ name, data }) => (name === 'request' ? [data] : []));
  assert.is(new Set(seen.map(({ id }) => id)).size, 1);
  assert.is(seen[0]?.state, 'waiting');
  const last = seen.at(-1) as Row;
  assert.equal([last.state, last.status, last.completionTokens, last.client], ['done', 200, 200, 'a-test/1']);
  assert.ok((last.tokensPerSecond ?? 0) > 0 && last.ttftMs !== null);
  assert.is((await rows())[0]?.id, last.id);
  assert.is(last.id, reply.headers.get('x-request-id'));
});

watching(
  'how far a long prompt is, and how long it is, is seen while it is computed; and the name that was asked for',
  async () => {
    // Steps of a few tokens, and a prompt that takes many of them.
    const config = { batchSize: 64, contextSize: ENDLESS_CONTEXT };
    await app.done('POST', '/api/v1/models/load', { model: MODEL, config });
    const events = await app.watch();
    const ofRequest = (id: string | null): Row[] =>
      events.seen.flatMap(({ name, data }) => (name === 'request' && data.id === id ? [data] : []));
    let asked = 0;
    // A busy app may look at a prompt only at its end.
    await until(async () => {
      asked += 1;
      const content = `${asked} stories ${'of many words '.repeat(3000)}`;
      const reply = await ask({ model: 'a-nonsense-name', messages: [{ role: 'user', content }], max_tokens: 2 });
      await reply.text();
      const seen = () => ofRequest(reply.headers.get('x-request-id'));
      await until(() => seen().at(-1)?.state === 'done', 'its end');
      const last = seen().at(-1) as Row;
      assert.equal([last.prefill, last.model, last.requested], [1, MODEL, 'a-nonsense-name']);
      const within = seen().filter(({ prefill }) => prefill > 0 && prefill < 1);
      for (const row of within) assert.equal([row.state, row.promptTokens], ['prefill', last.promptTokens]);
      return within.length > 0;
    }, 'a prompt that is seen while it is computed');
    events.close();
    assert.is((await rows())[0]?.requested, 'a-nonsense-name');
  },
);

watching('a request that is cancelled ends with an error for its client, and is none that failed', async () => {
  const reply = await ask({ ...ENDLESS, stream: true });
  const text = reply.text();
  const id = reply.headers.get('x-request-id') ?? '';
  await until(async () => (await rows()).some((row) => row.id === id && row.state === 'decode'), 'it decodes');
  await app.done('POST', `/api/v1/requests/${id}/cancel`);
  assert.match(await text, /"code":"request_cancelled"/);
  await until(async () => (await rows()).find((row) => row.id === id)?.state === 'cancelled', 'it is over');
  const again = await app.api('POST', `/api/v1/requests/${id}/cancel`);
  assert.equal([again.status, again.body.error.code], [404, 'not_found']);
});

watching(
  'one whose client leaves is cancelled, one that is refused has failed, and the app knows its own',
  async () => {
    const stop = new AbortController();
    const left = fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      signal: stop.signal,
      headers: { 'content-type': 'application/json', 'user-agent': 'leaver' },
      body: JSON.stringify({ model: 'x', messages: [{ role: 'user', content: 'x' }], ...ENDLESS }),
    }).catch(() => undefined);
    await until(async () => (await rows()).some(({ client }) => client === 'leaver'), 'it runs');
    stop.abort();
    await left;
    await until(
      async () => (await rows()).find(({ client }) => client === 'leaver')?.state === 'cancelled',
      'it is over',
    );
    await ask({ max_tokens: 'many' });
    assert.equal([(await rows())[0]?.state, (await rows())[0]?.error], ['failed', 'invalid_type']);
    const login = await fetch(`${app.url}/?token=${app.token}`, { redirect: 'manual' });
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] as string;
    const key = pageKeyFor(app.token, Number(new URL(app.url).port));
    await fetch(`${app.url}/app/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie, 'x-chasqui-page-key': key },
      body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'x' }], max_tokens: 2 }),
    });
    assert.is((await rows())[0]?.client, 'app');
  },
);

watching('the plots have a point each second, and what was computed', async () => {
  const events = await app.watch();
  await (await ask({ max_tokens: 300, ignore_eos: true })).text();
  const points = () => events.seen.filter(({ name }) => name === 'metrics').map(({ data }) => data);
  // Times to the first token count for a minute, so the last point may have none.
  await until(() => points().some(({ tokensPerSecond }) => tokensPerSecond > 0), 'a point with tokens');
  await until(() => points().some(({ ttftP50 }) => ttftP50 !== null), 'a point with a time to the first token');
  events.close();
  for (const { memoryBytes, kvUsage } of points()) assert.ok(memoryBytes > 2 ** 20 && kvUsage >= 0);
  const { points: kept } = await app.done('GET', '/api/v1/metrics?seconds=3600');
  assert.ok(kept.some(({ tokensPerSecond }: { tokensPerSecond: number }) => tokensPerSecond > 0));
  const csv = await fetch(`${app.url}/api/v1/metrics.csv`, { headers: { authorization: `Bearer ${app.token}` } });
  assert.match(csv.headers.get('content-type') ?? '', /^text\/csv/);
  assert.match(await csv.text(), /^time,tokens_per_second,.*\n\d{4}-/);
});

watching('the log has the requests, without what was said unless that is set', async () => {
  const secret = 'a-word-that-nobody-says';
  const lines = async () => JSON.stringify((await app.done('GET', '/api/v1/logs')).lines);
  await ask({ messages: [{ role: 'user', content: secret }], max_tokens: 2 });
  await until(async () => (await lines()).includes('/v1/chat/completions 200'), 'a line of the request');
  assert.not.match(await lines(), new RegExp(secret));
  await app.done('PUT', '/api/v1/settings', { logPrompts: true });
  await ask({ messages: [{ role: 'user', content: secret }], max_tokens: 2 });
  await until(async () => (await lines()).includes(secret), 'the prompt in the log');
  await app.done('PUT', '/api/v1/settings', { logPrompts: false });
  assert.not.match(await lines(), /api\/v1\/(state|logs)/, 'the pages of the app are not news');
});

watching('the folder of the log is told, and shown where that is possible', async () => {
  const { folder } = await app.done('GET', '/api/v1/logs');
  assert.is(folder, path.join(app.folder, 'logs'));
  const shown = await app.done('POST', '/api/v1/logs/folder');
  assert.equal([shown.folder, typeof shown.opened], [folder, 'boolean']);
});

watching('limits of lists are numbers within bounds', async () => {
  for (const [query, param] of [
    ['requests?limit=0', 'limit'],
    ['requests?limit=many', 'limit'],
    ['metrics?seconds=99999', 'seconds'],
    ['logs?limit=1e9', 'limit'],
  ]) {
    const { status, body } = await app.api('GET', `/api/v1/${query}`);
    assert.equal([status, body.error.param], [400, param], query);
  }
});

watching('a page that stops reading is cut off, while the others go on', async () => {
  const events = await app.watch();
  const { hostname, port, host } = new URL(app.url);
  let isClosed = false;
  const idle = net.connect(Number(port), hostname, () => {
    idle.pause();
    idle.write(`GET /api/v1/events HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${app.token}\r\n\r\n`);
  });
  idle.on('error', () => undefined);
  idle.on('close', () => {
    isClosed = true;
  });
  // Each change of the settings is an event. A long list of folders makes it a large one.
  const modelFolders = Array.from({ length: 50 }, (_, index) => `/${String(index).repeat(1500)}`);
  for (let round = 0; round < 120; round += 1) {
    await app.done('PUT', '/api/v1/settings', {
      modelFolders: round % 2 === 0 ? modelFolders : [...modelFolders].reverse(),
    });
  }
  // Bytes that lie in the system's buffers are read before the end is seen.
  idle.resume();
  await until(() => isClosed, 'its connection is closed');
  const settings = events.seen.filter(({ name }) => name === 'settings');
  await until(
    () => events.seen.filter(({ name }) => name === 'settings').length >= 120,
    'all events for who reads',
    30_000,
  );
  assert.ok(settings.length > 0);
  events.close();
});

watching('HEAD of the events, which have no end, is refused at once', async () => {
  const headers = { authorization: `Bearer ${app.token}` };
  const request = { method: 'HEAD', headers, signal: AbortSignal.timeout(60_000) };
  const { status } = await fetch(`${app.url}/api/v1/events`, request);
  assert.is(status, 405);
});

watching.run();
