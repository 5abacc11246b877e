import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { completeJob } from '../../../ts/engine/job.js';
import { Metrics, type MetricsOptions } from '../../../ts/metrics/metrics.js';
import { RequestRecord } from '../../../ts/metrics/request-record.js';
import { FakeEngine, finishOf } from '../../support/fake-engine.js';
import { Exposition } from '../../support/read-metrics.js';

const test = suite('unit: metrics under the names of other servers');

async function scrape(names: NonNullable<MetricsOptions['names']>): Promise<Exposition> {
  const timings = { queuedMs: 0, promptMs: 500, predictedMs: 2000 };
  const finish = finishOf(30, 4, { cachedTokens: 10, timings });
  const engine = new FakeEngine({ batches: () => [[{}, {}, {}, { finish }]], model: { contextLength: 4096 } });
  const stats = { ...(await engine.stats()), decodeSteps: 5, embeddingSteps: 2 };
  engine.stats = async () => stats;
  const metrics = new Metrics({ names });
  metrics.watchEngines(() => [engine]);
  const arrival = { id: 'req_1', method: 'POST', path: '/', endpoint: '/', traceParent: null };
  const streams = [engine.submit(completeJob({ prompt: 'x' }))];
  new RequestRecord(metrics, arrival).follow('fake', streams);
  for (const stream of streams) await stream.forEachBatch(() => undefined);
  return new Exposition(await metrics.text());
}

test('by default there are only ours, and those of any process', async () => {
  const names = [...(await scrape([])).families.keys()];
  assert.ok(names.length > 20);
  assert.equal(
    names.filter((name) => !/^(chasqui|process)_/.test(name)),
    [],
  );
});

/** Bounds of vLLM (vllm/v1/metrics/loggers.py). Quantiles are comparable only with equal bounds. */
const VLLM_BOUNDS: Record<string, string> = {
  time_to_first_token_seconds:
    '0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10 20 40 80 160 640 2560 +Inf',
  inter_token_latency_seconds: '0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1 2.5 5 7.5 10 20 40 80 +Inf',
  e2e_request_latency_seconds: '0.3 0.5 0.8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 1920 7680 +Inf',
};

test('histograms have the bounds of vLLM', async () => {
  const metrics = await scrape(['vllm']);
  for (const prefix of ['chasqui_', 'vllm:']) {
    for (const [name, bounds] of Object.entries(VLLM_BOUNDS)) {
      const found = metrics.samples(`${prefix}${name}_bucket`).map(({ labels }) => labels.le);
      assert.is(found.join(' '), bounds, prefix + name);
    }
  }
});

test("vLLM's: the same numbers, with its label for the engine", async () => {
  const metrics = await scrape(['vllm', 'vllm']);
  const labels = { model_name: 'fake', engine: '0' };
  assert.is(metrics.value('vllm:prompt_tokens_total', labels), 30);
  assert.is(metrics.value('vllm:generation_tokens_total', labels), 4);
  assert.is(metrics.value('vllm:prefix_cache_hits_total', labels), 10);
  assert.is(metrics.value('vllm:num_requests_running', labels), 0);
  assert.is(metrics.value('vllm:num_requests_waiting', labels), 0);
  assert.is(metrics.value('vllm:kv_cache_usage_perc', labels), 0);
  assert.is(metrics.value('vllm:time_to_first_token_seconds_count', labels), 1);
  assert.is(metrics.value('vllm:request_prefill_time_seconds_sum', labels), 0.5);
  assert.is(metrics.value('vllm:request_success_total', { ...labels, finished_reason: 'stop' }), 1);
  const bounds = metrics.samples('vllm:time_to_first_token_seconds_bucket').map(({ labels: { le } }) => le);
  assert.equal([bounds.length, bounds[0], bounds.at(-2)], [23, '0.001', '2560']);
});

test('the metrics that load balancers need are always present', async () => {
  const metrics = await scrape(['vllm']);
  assert.is(metrics.value('vllm:cache_config_info', { block_size: '16', num_gpu_blocks: '256' }), 1);
  const [adapters] = metrics.samples('vllm:lora_requests_info');
  assert.equal(adapters?.labels, { max_lora: '0', running_lora_adapters: '', waiting_lora_adapters: '' });
  assert.ok(Math.abs((adapters?.value ?? 0) - Date.now() / 1000) < 60);
  const idle = new Exposition(await new Metrics({ names: ['vllm'] }).text());
  assert.is(idle.value('vllm:cache_config_info', { num_gpu_blocks: '0' }), 1);
  assert.is(idle.samples('vllm:lora_requests_info').length, 1);
});

test("llama-server's: without labels, prompts without what was cached", async () => {
  const metrics = await scrape(['llamacpp']);
  const values = Object.fromEntries(
    [...metrics.families].flatMap(([name, { samples }]) =>
      name.startsWith('llamacpp:') ? [[name.slice('llamacpp:'.length), samples.map(({ value }) => value)]] : [],
    ),
  );
  assert.equal(values, {
    prompt_tokens_total: [20],
    prompt_tokens_cached_total: [10],
    prompt_seconds_total: [0.5],
    tokens_predicted_total: [4],
    tokens_predicted_seconds_total: [2],
    n_decode_total: [7],
    n_tokens_max: [34],
    spec_decode_num_drafts_total: [0],
    spec_decode_num_draft_tokens_total: [0],
    spec_decode_num_accepted_tokens_total: [0],
    prompt_tokens_seconds: [40],
    predicted_tokens_seconds: [2],
    n_busy_slots_per_decode: [0],
    requests_processing: [0],
    requests_deferred: [0],
  });
});

test("llama-server's counters do not fall when an engine is unloaded, restarted or silent", async () => {
  const metrics = new Metrics({ names: ['llamacpp'] });
  const zero = await new FakeEngine({}).stats();
  const engineWith = (decodeSteps: number) => {
    const engine = new FakeEngine({});
    const set = (steps: number) => {
      engine.stats = async () => ({ ...zero, decodeSteps: steps, embeddingSteps: 1, drafts: steps, embeddedTokens: 2 });
    };
    set(decodeSteps);
    return { engine, set };
  };
  let loaded = [engineWith(5)];
  metrics.watchEngines(() => loaded.map(({ engine }) => engine));
  const counters = async () => {
    const found = new Exposition(await metrics.text());
    return ['n_decode_total', 'spec_decode_num_drafts_total', 'prompt_tokens_total'].map((name) =>
      found.value(`llamacpp:${name}`),
    );
  };
  assert.equal(await counters(), [6, 5, 2]);
  loaded = [];
  assert.equal(await counters(), [6, 5, 2], 'unloaded');
  assert.equal(await counters(), [6, 5, 2], 'only once');
  loaded = [engineWith(3)];
  assert.equal(await counters(), [10, 8, 4], 'loaded again');
  loaded[0]?.set(1);
  assert.equal(await counters(), [12, 9, 6], 'restarted');
  assert.ok(loaded[0]);
  loaded[0].engine.stats = () => Promise.reject(new Error('closed'));
  assert.equal(await counters(), [12, 9, 6], 'silent');
  // A scrape that began before the engine was unloaded ends after one that began later.
  const slow = engineWith(4);
  loaded = [slow];
  assert.equal(await counters(), [17, 13, 8]);
  let reply: () => void = () => assert.unreachable();
  const stats = await slow.engine.stats();
  slow.engine.stats = () => new Promise((resolve) => (reply = () => resolve(stats)));
  const early = counters();
  loaded = [];
  assert.equal(await counters(), [17, 13, 8]);
  reply();
  assert.equal(await early, [17, 13, 8]);
  assert.equal(await counters(), [17, 13, 8]);
});

test('each of them is one that llama-server has', async () => {
  const { readFileSync } = await import('node:fs');
  const source = readFileSync('vendor/llama.cpp/tools/server/server-task.cpp', 'utf8');
  const names = [...(await scrape(['llamacpp'])).families.keys()].filter((name) => name.startsWith('llamacpp:'));
  for (const name of names) assert.match(source, `"${name.slice('llamacpp:'.length)}",`);
});

test.run();
