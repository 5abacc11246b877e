import { spawnSync } from 'node:child_process';
import { type Context, type SpanOptions, trace } from '@opentelemetry/api';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { completeJob } from '../../../ts/engine/job.js';
import { Metrics } from '../../../ts/metrics/metrics.js';
import { RequestRecord } from '../../../ts/metrics/request-record.js';
import { openSpans, type Spans } from '../../../ts/metrics/spans.js';
import { FakeEngine, finishOf } from '../../support/fake-engine.js';
import { register } from '../../support/node-arguments.mjs';

const test = suite('unit: requests as spans');

interface ToldSpan extends SpanOptions {
  name: string;
  parent: string | undefined;
  status?: unknown;
  end?: number;
}

/** Spans recorded by a fake SDK. */
const told: ToldSpan[] = [];
const tracer = {
  startSpan(name: string, options: SpanOptions, context: Context) {
    const span: ToldSpan = { name, parent: trace.getSpanContext(context)?.spanId, ...options };
    told.push(span);
    const spanId = String(told.length).padStart(16, '0');
    return {
      spanContext: () => ({ traceId: 'f'.repeat(32), spanId, traceFlags: 1 }),
      isRecording: () => true,
      setStatus: (status: unknown) => void Object.assign(span, { status }),
      end: (end: number) => void Object.assign(span, { end }),
    };
  },
};

let spans: Spans;
test.before(async () => {
  trace.setGlobalTracerProvider({ getTracer: () => tracer as never });
  spans = (await openSpans()) as Spans;
  assert.ok(spans, 'the package is there');
});
test.before.each(() => void told.splice(0));
test.after(() => trace.disable());

const ARRIVAL = {
  id: 'req_1',
  method: 'POST',
  path: '/v1/chat/completions',
  endpoint: '/v1/chat/completions',
  traceParent: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), flags: 1 },
};

test('a request is a span of its trace, with its parts one after the other', async () => {
  const timings = { queuedMs: 10, promptMs: 20, predictedMs: 30 };
  const finish = finishOf(7, 2, { cachedTokens: 3, timings });
  const engine = new FakeEngine({ batches: () => [[{}, { finish }]] });
  const record = new RequestRecord(new Metrics(), ARRIVAL);
  const stream = engine.submit(completeJob({ prompt: 'x' }));
  record.follow('m', [stream]);
  await stream?.forEachBatch(() => undefined);
  record.end(200);
  spans.add(record);

  const [request, ...parts] = told as [ToldSpan, ...ToldSpan[]];
  assert.equal([request.name, request.kind, request.parent], ['POST /v1/chat/completions', 1, 'b'.repeat(16)]);
  assert.is(request.startTime, record.arrivedAt);
  assert.is(request.end, record.arrivedAt + (record.durationMs as number));
  assert.equal(request.attributes, {
    'http.request.method': 'POST',
    'url.path': '/v1/chat/completions',
    'http.route': '/v1/chat/completions',
    'http.response.status_code': 200,
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'chasqui',
    'gen_ai.request.model': 'm',
    'gen_ai.response.model': 'm',
    'gen_ai.usage.input_tokens': 7,
    'gen_ai.usage.cache_read.input_tokens': 3,
    'gen_ai.usage.output_tokens': 2,
    'gen_ai.response.finish_reasons': ['stop'],
  });
  assert.equal(
    parts.map(({ name, parent }) => [name, parent]),
    ['queue', 'prefill', 'decode'].map((name) => [name, '1'.padStart(16, '0')]),
  );
  const lengths = parts.map(
    ({ startTime, end }) => Math.round(((end as number) - (startTime as number)) * 1000) / 1000,
  );
  assert.equal(lengths, [10, 20, 30]);
  assert.is(parts[0]?.end, parts[1]?.startTime);
  assert.is(parts[1]?.end, parts[2]?.startTime);
  assert.ok(Math.abs((parts[2]?.end as number) - (record.arrivedAt + record.timingsEndMs)) < 0.001);
});

test('one that failed, without a trace or a model', () => {
  const record = new RequestRecord(new Metrics(), { ...ARRIVAL, endpoint: null, traceParent: null });
  record.failed('internal_error');
  record.end(500);
  spans.add(record);
  const [request, ...parts] = told as [ToldSpan, ...ToldSpan[]];
  assert.equal(parts, []);
  assert.equal([request.name, request.parent], ['POST', undefined]);
  assert.equal(request.status, { code: 2, message: 'internal_error' });
  assert.equal(request.attributes, {
    'http.request.method': 'POST',
    'url.path': '/v1/chat/completions',
    'http.response.status_code': 500,
    'error.type': 'internal_error',
  });
});

/** What `openSpans` returns in a process without the package, after `before`. */
function opened(before: string): string {
  const hooks = `import { writeSync } from 'node:fs';
  export const resolve = (specifier, context, next) => {
    if (specifier !== '@opentelemetry/api') return next(specifier, context);
    writeSync(1, 'imported\\n');
    return next('a-package-that-is-not-installed', context);
  }`;
  const program = `
    import { register } from 'node:module';
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hooks)}));
    ${before}
    const { openSpans } = await import('./ts/metrics/spans.ts');
    console.log(await openSpans());`;
  const args = ['--import', register, '--input-type=module', '-e', program];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.is(status, 0, stderr);
  return stdout;
}

test('without the package there are none', () => {
  assert.is(opened("globalThis[Symbol.for('opentelemetry.js.api.1')] = {};"), 'imported\nnull\n');
});

test('without an SDK the package is not loaded', () => {
  assert.is(opened(''), 'null\n');
});

test.run();
