import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Token, TokenStream } from '../../../ts/engine/engine.js';
import { completeJob } from '../../../ts/engine/job.js';
import { Metrics } from '../../../ts/metrics/metrics.js';
import { RequestRecord } from '../../../ts/metrics/request-record.js';
import { NEUTRAL_SAMPLING } from '../../../ts/options/sampling-table.js';
import { FakeEngine, finishOf } from '../../support/fake-engine.js';
import { Exposition } from '../../support/read-metrics.js';

const test = suite('unit: the record of a request');

const ARRIVAL = { id: 'req_1', method: 'POST', path: '/x/v1/y', endpoint: '/v1/y', traceParent: null };
const TIMINGS = { queuedMs: 400, promptMs: 600, predictedMs: 2000 };

function begin(batches: Partial<Token>[][], answers = 1) {
  const engine = new FakeEngine({ batches: () => batches, unfinished: true });
  const metrics = new Metrics();
  const record = new RequestRecord(metrics, ARRIVAL);
  const job = completeJob({ prompt: 'x' }, NEUTRAL_SAMPLING);
  const streams = Array.from({ length: answers }, () => engine.submit(job));
  record.follow('m', streams);
  const readAll = () => Promise.all(streams.map((stream) => stream.forEachBatch(() => undefined)));
  const read = async () => new Exposition(await metrics.text());
  return { record, streams, readAll, read };
}

test('counts what passes and tells it on, and observes once for each batch', async () => {
  const finish = finishOf(30, 4, { cachedTokens: 20, reason: 'length', timings: TIMINGS });
  const { record, streams, read } = begin([[{ text: 'a' }], [{ text: 'b' }, { text: 'c' }], [{ text: 'd', finish }]]);
  const texts: string[] = [];
  await streams[0]?.forEachBatch((tokens) => void texts.push(tokens.map(({ text }) => text).join('')));
  record.end(200);
  assert.equal(texts, ['a', 'bc', 'd']);
  assert.equal([record.promptTokens, record.cachedTokens, record.generatedTokens], [30, 20, 4]);
  assert.equal([record.finishReasons, record.timings], [['length'], TIMINGS]);
  assert.type(record.firstTokenMs, 'number');

  const metrics = await read();
  const of = (name: string, labels = {}) => metrics.value(`chasqui_${name}`, { model_name: 'm', ...labels });
  assert.is(of('generation_tokens_total'), 4);
  assert.is(of('prompt_tokens_total'), 30);
  assert.is(of('prefix_cache_queries_total'), 30);
  assert.is(of('prefix_cache_hits_total'), 20);
  assert.is(of('request_success_total', { finished_reason: 'length' }), 1);
  assert.is(of('request_success_total', { finished_reason: 'stop' }), 0);
  assert.is(of('time_to_first_token_seconds_count'), 1);
  assert.is(of('inter_token_latency_seconds_count'), 2);
  assert.is(of('e2e_request_latency_seconds_count'), 1);
  assert.is(of('request_queue_time_seconds_sum'), 0.4);
  assert.is(of('request_prefill_time_seconds_sum'), 0.6);
  assert.is(of('request_decode_time_seconds_sum'), 2);
  assert.is(of('request_inference_time_seconds_sum'), 2.6);
  assert.is(of('request_time_per_output_token_seconds_sum'), 2 / 3);
  assert.is(of('request_prompt_tokens_sum'), 30);
  assert.is(of('request_generation_tokens_sum'), 4);
  assert.is(metrics.value('chasqui_http_requests_total', { endpoint: '/v1/y', status: '200' }), 1);
  assert.equal(metrics.samples('chasqui_request_failures_total'), []);
});

test('a completion that comes in one batch began when the engine says', async () => {
  const finish = finishOf(30, 2, { timings: { ...TIMINGS, predictedMs: 50 } });
  const { record, streams } = begin([[{ text: 'a' }, { text: 'b', finish }]]);
  await new Promise((resolve) => setTimeout(resolve, 60));
  const before = performance.now();
  await streams[0]?.forEachBatch(() => undefined);
  record.end(200);
  const readMs = performance.now() - before;
  const { firstTokenMs, timingsEndMs } = record;
  assert.ok(Math.abs((firstTokenMs as number) - (timingsEndMs - 50)) <= readMs, `${firstTokenMs} of ${timingsEndMs}`);
  const other = begin([[{ finish: finishOf(1, 1, { timings: { ...TIMINGS, predictedMs: 1e9 } }) }]]);
  await other.readAll();
  assert.is(other.record.firstTokenMs, 0);
});

test('answers that share a prompt count it once, and each in the cache', async () => {
  const finish = finishOf(10, 1, { cachedTokens: 4 });
  const { record, readAll, read } = begin([[{ finish }]], 3);
  await readAll();
  record.end(200);
  assert.equal([record.promptTokens, record.cachedTokens, record.generatedTokens], [10, 4, 3]);
  const metrics = await read();
  assert.is(metrics.value('chasqui_prompt_tokens_total'), 10);
  assert.is(metrics.value('chasqui_prefix_cache_queries_total'), 30);
  assert.is(metrics.value('chasqui_request_success_total', { finished_reason: 'stop' }), 3);
  assert.is(metrics.value('chasqui_time_to_first_token_seconds_count'), 1);
  assert.is(metrics.value('chasqui_e2e_request_latency_seconds_count'), 1);
});

for (const [code, reason] of [
  ['client_closed_request', 'abort'],
  ['decode_failed', 'error'],
] as const) {
  test(`an answer that did not end counts as ${reason} after ${code}`, async () => {
    const { record, readAll, read } = begin([[{ text: 'a' }]], 2);
    await readAll();
    record.failed(code);
    record.failed('internal_error');
    record.end(499);
    const metrics = await read();
    assert.is(metrics.value('chasqui_request_success_total', { finished_reason: reason }), 2);
    assert.is(metrics.value('chasqui_e2e_request_latency_seconds_count'), 0);
    assert.is(metrics.value('chasqui_generation_tokens_total'), 2);
    assert.equal(
      metrics.samples('chasqui_request_failures_total').map(({ labels, value }) => [labels.code, value]),
      [[code, 1]],
    );
  });
}

test('a path that nobody knows is not a label', async () => {
  const metrics = new Metrics();
  new RequestRecord(metrics, { ...ARRIVAL, endpoint: null, path: '/whatever' }).end(404);
  const text = await metrics.text();
  assert.is(new Exposition(text).value('chasqui_http_requests_total', { endpoint: 'unknown', status: '404' }), 1);
  assert.not.match(text, 'whatever');
});

test('prompts are kept only where they are asked for, and not endlessly', () => {
  const follow = (keepsPrompt: boolean) => {
    const record = new RequestRecord(new Metrics(), ARRIVAL, { keepsPrompt });
    record.follow('m', [], { prompt: 'secret'.repeat(10_000) });
    return record.prompt?.length ?? null;
  };
  assert.equal([follow(false), follow(true)], [null, 8192]);
});

test('the prefill of a request is that of its prompts, each of which counts once', () => {
  const record = new RequestRecord(new Metrics(), ARRIVAL);
  const parts = [
    [64, 100],
    [0, 100],
    [50, 50],
    [0, 50],
  ].map(([computed = 0, total = 0]) => ({ prefill: { computed, total }, observe: () => {} }) as unknown as TokenStream);
  assert.is(record.prefill, null);
  record.follow('m', parts, { choicesPerPrompt: 2 });
  assert.equal(record.prefill, { computed: 114, total: 150 });
});

test.run();
