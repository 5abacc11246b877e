// Metrics, log and exit of a server.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Usage } from '../../ts/api/shared/completion/chat-reply-schema.js';
import { type Child, startChild, untilWritten } from '../support/child.js';
import { untilEngineOf } from '../support/engine-process.js';
import { readJson } from '../support/read-json.js';
import { Exposition } from '../support/read-metrics.js';
import { readSse } from '../support/read-sse.js';
import { until } from '../support/until.js';

const test = suite('cli: watching a server');

const MODEL = 'chasqui-demo';

/** A server that a failed test did not stop would keep the whole run from ending. */
const started: Child[] = [];
test.after.each(() => {
  for (const child of started.splice(0)) child.process.kill('SIGKILL');
});

async function serve(...args: string[]): Promise<{ child: Child; url: string }> {
  const child = startChild('ts/cli.ts', ['serve', '--port', '0', '--threads', '1', ...args]);
  started.push(child);
  const [, url = ''] = await untilWritten(child, /^Serving \S+ at (http:\S+)\/v1$/m);
  return { child, url };
}

function chat(url: string, body: Record<string, unknown>): Promise<Response> {
  const messages = [{ role: 'user', content: 'Count from 3 to 9' }];
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, messages, ...body }),
  });
}

async function stop(child: Child): Promise<void> {
  child.process.kill('SIGTERM');
  assert.equal(await child.exited, { code: 0, signal: null }, child.output.stderr);
}

/** Log lines on standard error. */
function logged({ output }: Child): Record<string, unknown>[] {
  const lines = output.stderr.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line));
}

test('metrics, log and usage say the same', async () => {
  const { child, url } = await serve('--metrics-names', 'vllm', '--metrics-names', 'llamacpp');
  const usages: Usage[] = [];
  for (const n of [1, 1, 3])
    usages.push((await readJson(await chat(url, { max_tokens: 20, n, temperature: 1 }))).usage);
  const streamed = await chat(url, { stream: true, stream_options: { include_usage: true } });
  usages.push(readSse(await streamed.text()).events.at(-1).usage);
  const sum = (numberOf: (usage: (typeof usages)[number]) => number) =>
    usages.reduce((total, usage) => total + numberOf(usage), 0);

  const metrics = new Exposition(await (await fetch(`${url}/metrics`)).text());
  const of = (name: string, labels = {}) => metrics.value(`chasqui_${name}`, { model_name: MODEL, ...labels });
  assert.is(
    of('generation_tokens_total'),
    sum(({ completion_tokens }) => completion_tokens),
  );
  assert.is(
    of('prompt_tokens_total'),
    sum(({ prompt_tokens }) => prompt_tokens),
  );
  assert.ok(of('prefix_cache_hits_total') > 0);
  assert.is(of('request_decode_time_seconds_count'), 6);
  assert.ok(of('request_decode_time_seconds_sum') > 0);
  assert.is(of('e2e_request_latency_seconds_count'), 4);
  assert.is(of('model_load_seconds_count'), 1);
  assert.ok(of('engine_steps_total') > 0);
  assert.is(metrics.value('vllm:generation_tokens_total'), of('generation_tokens_total'));
  assert.is(metrics.value('llamacpp:n_decode_total'), of('engine_steps_total'));

  await until(() => logged(child).length === 4, 'the lines are written');
  assert.equal(
    logged(child).map((line) => [line.prompt_tokens, line.cached_tokens, line.completion_tokens]),
    usages.map((usage) => [usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens]),
  );
  assert.not.match(child.output.stderr, /Count from/);
  await stop(child);
});

test('an answer that outlasts the shutdown timeout ends with an error, and the log says so', async () => {
  // More tokens than fit into the buffers of a connection that is not read.
  const { child, url } = await serve('--ctx-size', '65536', '--shutdown-timeout', '0', '--log-prompts');
  const reply = await chat(url, { stream: true, ignore_eos: true });
  await stop(child);
  const { events, done } = readSse(await reply.text());
  assert.not.ok(done);
  assert.is(events.at(-1).error.code, 'engine_closed');
  const [line, ...others] = logged(child);
  assert.equal([line?.status, line?.error, others.length], [200, 'engine_closed', 0]);
  assert.match(String(line?.prompt), /Count from 3 to 9/);
});

if (process.platform === 'linux') {
  test('an engine that dies is counted; what passed through the server stays counted', async () => {
    const { child, url } = await serve();
    await readJson(await chat(url, { max_tokens: 5 }));
    const scrape = async () => new Exposition(await (await fetch(`${url}/metrics`)).text());
    const before = await scrape();
    assert.is(before.value('chasqui_engine_restarts_total'), 0);
    assert.ok(before.value('chasqui_engine_process_resident_memory_bytes') > 1e6);
    const engine = await untilEngineOf(child.process.pid as number);
    process.kill(engine, 'SIGKILL');
    await untilEngineOf(child.process.pid as number, engine);
    assert.is((await fetch(`${url}/live`)).status, 200);
    await until(async () => (await fetch(`${url}/ready`)).status === 200, 'it is ready again', 30_000);
    const after = await scrape();
    assert.is(after.value('chasqui_engine_restarts_total'), 1);
    assert.is(after.value('chasqui_engine_up'), 1);
    assert.is(after.value('chasqui_generation_tokens_total'), 5);
    assert.is(after.value('chasqui_engine_steps_total'), 0);
    await stop(child);
  });
}

test('the log can be text, or nothing', async () => {
  const asText = await serve('--log-format', 'text');
  await chat(asText.url, { max_tokens: 1 });
  const line =
    /^\d\d:\d\d:\d\d POST \/v1\/chat\/completions 200 .* \d+ \+ 1 tokens {2}length {2}chasqui-demo {2}req_\w+$/m;
  await until(() => line.test(asText.child.output.stderr), 'the line is written');
  await stop(asText.child);
  const silent = await serve('--log-level', 'silent');
  await chat(silent.url, { max_tokens: 1 });
  await stop(silent.child);
  assert.match(silent.child.output.stderr, /^chasqui: stopping[^\n]*\n$/);
});

test.run();
