import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Metrics } from '../../../ts/metrics/metrics.js';
import { FakeEngine } from '../../support/fake-engine.js';
import { Exposition } from '../../support/read-metrics.js';

const test = suite('unit: what a server measures of itself');

const read = async (metrics: Metrics) => new Exposition(await metrics.text());

function engineWith(id: string, stats: Partial<Awaited<ReturnType<FakeEngine['stats']>>>): FakeEngine {
  const engine = new FakeEngine({ model: { id } });
  const told = engine.stats.bind(engine);
  engine.stats = async () => ({ ...(await told()), ...stats });
  return engine;
}

test('tells what each engine tells', async () => {
  const metrics = new Metrics();
  const counts = { active: 3, queued: 2, kvCellsUsed: 25, kvCellsCached: 50, kvCellsTotal: 100, stepAgeMs: 1500 };
  const first = engineWith('one', {
    ...counts,
    decodeSteps: 7,
    decodePasses: 11,
    stepMs: 350,
    preemptions: 2,
    draftedTokens: 9,
    acceptedTokens: 8,
  });
  const second = engineWith('two', { active: 1, kvCellsTotal: 0 });
  metrics.watchEngines(() => [first, second]);
  const text = await read(metrics);
  const one = (name: string, labels = {}) => text.value(`chasqui_${name}`, { model_name: 'one', ...labels });
  assert.is(one('engine_up'), 1);
  assert.is(one('num_requests_running'), 3);
  assert.is(one('num_requests_waiting'), 2);
  assert.is(one('kv_cache_usage_perc'), 0.25);
  assert.equal(
    ['used', 'cached', 'free'].map((state) => one('kv_cache_cells', { state })),
    [25, 50, 25],
  );
  assert.is(one('engine_step_age_seconds'), 1.5);
  assert.is(one('engine_steps_total'), 7);
  assert.is(one('engine_passes_total'), 11);
  assert.is(one('engine_step_seconds_total'), 0.35);
  assert.is(one('num_preemptions_total'), 2);
  assert.is(one('spec_decode_num_draft_tokens_total'), 9);
  assert.is(one('spec_decode_num_accepted_tokens_total'), 8);
  assert.is(text.value('chasqui_num_requests_running', { model_name: 'two' }), 1);
  assert.is(text.value('chasqui_kv_cache_usage_perc', { model_name: 'two' }), 0);
});

test('an engine that is gone is told of no longer, what it answered stays', async () => {
  const metrics = new Metrics();
  const engine = engineWith('one', {});
  const remove = metrics.watchEngines(() => [engine]);
  metrics.forModel('one').generatedTokens.add(5);
  remove();
  const text = await read(metrics);
  assert.equal(text.samples('chasqui_num_requests_running'), []);
  assert.equal(text.samples('chasqui_engine_up'), []);
  assert.is(text.value('chasqui_generation_tokens_total', { model_name: 'one' }), 5);
});

test('an engine that says nothing holds nobody up', async () => {
  const metrics = new Metrics();
  const engine = engineWith('stuck', {});
  engine.stats = () => new Promise(() => undefined);
  const well = engineWith('well', {});
  metrics.watchEngines(() => [engine, well]);
  const text = await read(metrics);
  assert.is(text.value('chasqui_engine_up', { model_name: 'stuck' }), 0);
  assert.is(text.value('chasqui_engine_up', { model_name: 'well' }), 1);
});

test('engines that come back, and models that are loaded', async () => {
  const metrics = new Metrics();
  const engine = engineWith('m', {});
  metrics.watchEngines(() => [engine]);
  assert.is((await read(metrics)).value('chasqui_engine_restarts_total', { model_name: 'm' }), 0);
  metrics.engineRestarted('m');
  metrics.engineRestarted('m');
  metrics.modelLoaded('m', 1.5);
  const text = await read(metrics);
  assert.is(text.value('chasqui_engine_restarts_total', { model_name: 'm' }), 2);
  assert.is(text.value('chasqui_model_load_seconds_count', { model_name: 'm' }), 1);
  assert.is(text.value('chasqui_model_load_seconds_sum', { model_name: 'm' }), 1.5);
});

if (process.platform === 'linux') {
  test('the process of an engine, while there is one', async () => {
    const metrics = new Metrics();
    const engine = engineWith('m', {});
    const processes = { engine: process.pid as number | null, preparation: null };
    Object.defineProperty(engine, 'processes', { value: processes });
    const other = engineWith('in this process', {});
    metrics.watchEngines(() => [engine, other]);
    const { rss } = process.memoryUsage();
    const text = await read(metrics);
    const resident = text.value('chasqui_engine_process_resident_memory_bytes');
    assert.ok(Math.abs(resident / rss - 1) < 0.2, `${resident} instead of ${rss}`);
    const cpu = text.value('chasqui_engine_process_cpu_seconds_total', { model_name: 'm' });
    const { user, system } = process.cpuUsage();
    assert.ok(Math.abs(cpu - (user + system) / 1e6) < 1, `${cpu} s`);
    // There is no such process: Linux's numbers end below.
    for (const pid of [2 ** 30, null]) {
      processes.engine = pid;
      assert.equal((await read(metrics)).samples('chasqui_engine_process_resident_memory_bytes'), []);
    }
  });
}

test('the process', async () => {
  const text = await read(new Metrics());
  assert.ok(text.value('process_cpu_seconds_total') > 0);
  assert.ok(text.value('process_resident_memory_bytes') > 1e6);
  assert.ok(Math.abs(text.value('process_start_time_seconds') - (Date.now() / 1000 - process.uptime())) < 2);
  if (process.platform !== 'linux') return;
  assert.ok(text.value('process_open_fds') > 2);
  assert.ok(text.value('process_max_fds') > text.value('process_open_fds'));
});

test('an event loop that is held up is late', async () => {
  const metrics = new Metrics();
  const stop = metrics.watchEventLoop();
  const end = performance.now() + 400;
  while (performance.now() < end);
  await new Promise((resolve) => setTimeout(resolve, 1));
  stop();
  const text = await read(metrics);
  const total = text.value('chasqui_event_loop_lag_seconds_count');
  assert.ok(total >= 1);
  assert.ok(text.value('chasqui_event_loop_lag_seconds_bucket', { le: '0.25' }) < total);
});

test.run();
