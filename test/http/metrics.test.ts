import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Metrics } from '../../ts/metrics/metrics.js';
import type { RequestRecord } from '../../ts/metrics/request-record.js';
import type { Spans } from '../../ts/metrics/spans.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { CHAT_PATH, chatBody, closeApps, listeningApp, type TestApp, testApp } from '../support/build-app.js';
import { finishOf } from '../support/fake-engine.js';
import { sendChat } from '../support/raw-client.js';
import { Exposition } from '../support/read-metrics.js';
import { until } from '../support/until.js';

const test = suite('http: metrics');

test.after.each(closeApps);

async function scrape({ app }: Pick<TestApp, 'app'>): Promise<Exposition> {
  const reply = await app.inject('/metrics');
  assert.is(reply.statusCode, 200);
  assert.is(reply.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  // Missing in the types of Node.js.
  const { res } = reply.raw as unknown as { res: { getRawHeaderNames(): string[] } };
  assert.ok(res.getRawHeaderNames().includes('Process-Start-Time-Unix'));
  const startedMs = 1000 * Number(reply.headers['process-start-time-unix']);
  assert.ok(Math.abs(startedMs - performance.timeOrigin) <= 500, `${startedMs}`);
  return new Exposition(reply.body);
}

const FINISH = finishOf(12, 4, { cachedTokens: 8, timings: { queuedMs: 1, promptMs: 2, predictedMs: 3 } });
const ANSWER = () => [[{ text: 'Hel' }], [{ text: 'lo' }, { text: '' }], [{ text: '!', finish: FINISH }]];

const ENDPOINTS: [url: string, body: Record<string, unknown>][] = [
  [CHAT_PATH, chatBody()],
  ['/v1/responses', { model: 'fake', input: 'Hi' }],
  ['/v1/messages', { model: 'fake', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }],
  ['/v1/completions', { model: 'fake', prompt: 'Hi' }],
];

for (const [url, body] of ENDPOINTS) {
  for (const stream of [false, true]) {
    test(`${url}, ${stream ? 'streamed' : 'whole'}, is counted`, async () => {
      const test = testApp({ batches: ANSWER });
      assert.is((await test.send(url, { ...body, stream })).statusCode, 200);
      const metrics = await scrape(test);
      const of = (name: string, labels = {}) => metrics.value(`chasqui_${name}`, { model_name: 'fake', ...labels });
      assert.is(of('prompt_tokens_total'), 12);
      assert.is(of('generation_tokens_total'), 4);
      assert.is(of('prefix_cache_hits_total'), 8);
      assert.is(of('time_to_first_token_seconds_count'), 1);
      assert.is(of('inter_token_latency_seconds_count'), 2);
      assert.is(of('request_prefill_time_seconds_sum'), 0.002);
      assert.is(of('e2e_request_latency_seconds_count'), 1);
      assert.is(of('request_success_total', { finished_reason: 'stop' }), 1);
      assert.is(metrics.value('chasqui_http_requests_total', { endpoint: url, status: '200' }), 1);
    });
  }
}

test('texts that are embedded or ranked count as prompts', async () => {
  const embedder = testApp();
  await embedder.send('/v1/embeddings', { model: 'fake', input: ['abc', 'de'] });
  assert.is((await scrape(embedder)).value('chasqui_prompt_tokens_total'), 5);
  const ranker = testApp({ model: { pooling: 'rank' } });
  await ranker.send('/v1/rerank', { model: 'fake', query: 'q', documents: ['abc'] });
  assert.is((await scrape(ranker)).value('chasqui_prompt_tokens_total'), 4);
});

test('refused requests are counted by error code and by route', async () => {
  const test = testApp();
  await test.chat({ temperature: 'hot' });
  await test.chat({ model: 'another' });
  await test.app.inject('/nowhere/at/all');
  await test.app.inject('/v1/models/no/such');
  await test.app.inject({ method: 'DELETE', url: '/health' });
  const metrics = await scrape(test);
  const samples = (name: string, label: string) =>
    Object.fromEntries(metrics.samples(name).map(({ labels, value }) => [labels[label], value]));
  assert.equal(samples('chasqui_request_failures_total', 'code'), {
    invalid_type: 1,
    model_not_found: 2,
    unknown_url: 1,
    method_not_allowed: 1,
  });
  assert.equal(samples('chasqui_http_requests_total', 'endpoint'), {
    [CHAT_PATH]: 1,
    unknown: 1,
    '/v1/models/*': 1,
    '/health': 1,
  });
});

test('a failure in a stream that has begun is counted', async () => {
  const test = testApp({ batches: ANSWER, failAt: 1, failWith: new Error('broken') });
  assert.match((await test.chat({ stream: true })).body, /internal_error/);
  const metrics = await scrape(test);
  assert.is(metrics.value('chasqui_request_failures_total', { code: 'internal_error' }), 1);
  assert.is(metrics.value('chasqui_request_success_total', { finished_reason: 'error' }), 1);
  assert.is(metrics.value('chasqui_http_requests_total', { endpoint: CHAT_PATH, status: '200' }), 1);
});

test('a client that leaves is counted as one', async () => {
  const test = await listeningApp({ manual: true });
  const socket = sendChat(test.url, { stream: true });
  await until(() => test.engine.running.size === 1, 'the job is submitted');
  socket.destroy();
  await until(() => test.engine.running.size === 0, 'the job is cancelled');
  await until(async () => (await scrape(test)).samples('chasqui_request_failures_total').length > 0, 'it is counted');
  const metrics = await scrape(test);
  assert.is(metrics.value('chasqui_request_failures_total', { code: 'client_closed_request' }), 1);
  assert.is(metrics.value('chasqui_request_success_total', { finished_reason: 'abort' }), 1);
  assert.is(metrics.value('chasqui_http_requests_total', { endpoint: CHAT_PATH, status: '499' }), 1);
});

test('the engine is asked, and not waited for', async () => {
  const test = testApp();
  assert.is((await scrape(test)).value('chasqui_engine_up', { model_name: 'fake' }), 1);
  test.engine.stats = () => new Promise(() => undefined);
  assert.is((await scrape(test)).value('chasqui_engine_up', { model_name: 'fake' }), 0);
});

test('each request becomes a span, once', async () => {
  const added: RequestRecord[] = [];
  const spans = { add: (record: RequestRecord) => void added.push(record) } as unknown as Spans;
  const { chat } = testApp({ batches: ANSWER }, { spans });
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const { app } = testApp({}, { spans });
  await chat({ stream: true });
  await app.inject({ url: '/v1/models', headers: { traceparent } });
  assert.equal(
    added.map(({ arrival, generatedTokens, status }) => [arrival.endpoint, generatedTokens, status]),
    [
      [CHAT_PATH, 4, 200],
      ['/v1/models', 0, 200],
    ],
  );
  assert.is(added[1]?.arrival.traceParent?.spanId, 'b'.repeat(16));
});

test('the operator can add samples and names of other servers', async () => {
  const metrics = new Metrics({ names: ['vllm', 'llamacpp'] });
  metrics.modelLoaded('fake', 2);
  const text = await scrape(testApp({}, { metrics }));
  assert.is(text.value('chasqui_model_load_seconds_sum', { model_name: 'fake' }), 2);
  assert.is(text.value('vllm:num_requests_running', { model_name: 'fake' }), 0);
  assert.is(text.value('llamacpp:requests_processing'), 0);
});

test('a private deployment shows them beside its path without a key, and below it with one', async () => {
  const deployment = { org: 'acme', app: 'chat' };
  const { app } = testApp({}, { deployment, access: (key) => key === 'right' }, serverless);
  const text = new Exposition((await app.inject('/metrics')).body);
  assert.is(text.value('chasqui_engine_up', { model_name: 'fake' }), 1);
  assert.is((await app.inject('/acme/chat/metrics')).statusCode, 401);
  const headers = { authorization: 'Key right' };
  const below = await app.inject({ url: '/acme/chat/metrics', headers });
  const endpoints = new Exposition(below.body).samples('chasqui_http_requests_total');
  assert.equal(
    endpoints.map(({ labels }) => [labels.endpoint, labels.status]),
    [
      ['/metrics', '200'],
      ['/metrics', '401'],
    ],
  );
});

test.run();
