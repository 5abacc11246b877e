// The metrics of a cloud: their text, what a reader may see of it, and that the page about them agrees.
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { TimedUsage } from '../../../ts/cloud/gateway/usage.js';
import { CLOUD_CATALOGUE } from '../../../ts/cloud/metrics/catalogue.js';
import { CloudMetrics, type MeasuredApp } from '../../../ts/cloud/metrics/cloud-metrics.js';
import type { MetricRow } from '../../../ts/metrics/catalogue.js';
import { tableWith } from '../../house/markdown.js';

const test = suite('cloud: metrics');

const runners = { loading: 1, warming: 0, ready: 2, draining: 0 };
const measured = (org: string, name: string): MeasuredApp => ({
  org,
  name,
  running: 3,
  waiting: 4,
  queueLimit: 72,
  runners,
  memoryBytes: 1000,
  starts: 5,
  crashes: 2,
  hasFailed: false,
});

const use: TimedUsage = {
  keyId: 'k',
  org: 'acme',
  app: 'chat',
  at: 0,
  promptTokens: 10,
  completionTokens: 5,
  cachedTokens: 4,
  status: 200,
  ms: 1500,
  waitedMs: 20,
  firstByteMs: 300,
};

function open(): CloudMetrics {
  const apps = [measured('acme', 'chat'), measured('other', 'chat')];
  return new CloudMetrics(() => ({ apps, memoryLimitBytes: 4096, queues: [{ org: 'acme', app: 'chat', count: 7 }] }));
}

const EVERYTHING = { all: true, app: () => true };

test('requests and tokens are summed, and apps are shown as they are now', () => {
  const metrics = open();
  metrics.add(use);
  metrics.add({ ...use, status: 499, waitedMs: null, firstByteMs: null });
  const lines = metrics.text(EVERYTHING).split('\n');
  metrics.close();
  for (const line of [
    '# TYPE chasqui_app_requests_total counter',
    'chasqui_app_requests_total{org="acme",app="chat",status="200"} 1',
    'chasqui_app_requests_total{org="acme",app="chat",status="499"} 1',
    'chasqui_app_prompt_tokens_total{org="acme",app="chat"} 20',
    'chasqui_app_cached_tokens_total{org="acme",app="chat"} 8',
    'chasqui_app_completion_tokens_total{org="acme",app="chat"} 10',
    'chasqui_app_wait_seconds_bucket{org="acme",app="chat",le="0.01"} 0',
    'chasqui_app_wait_seconds_bucket{org="acme",app="chat",le="0.05"} 1',
    'chasqui_app_wait_seconds_count{org="acme",app="chat"} 1',
    'chasqui_app_first_byte_seconds_sum{org="acme",app="chat"} 0.3',
    'chasqui_app_request_seconds_count{org="acme",app="chat"} 2',
    'chasqui_app_requests_running{org="other",app="chat"} 3',
    'chasqui_app_requests_waiting{org="other",app="chat"} 4',
    'chasqui_app_queue_length{org="acme",app="chat"} 7',
    'chasqui_app_queue_length{org="other",app="chat"} 0',
    'chasqui_app_runners{org="acme",app="chat",state="loading"} 1',
    'chasqui_app_runners{org="acme",app="chat",state="ready"} 2',
    'chasqui_app_runner_crashes_total{org="acme",app="chat"} 2',
    'chasqui_runners_memory_limit_bytes 4096',
  ]) {
    assert.ok(lines.includes(line), line);
  }
  assert.ok(lines.some((line) => line.startsWith('process_resident_memory_bytes ')));
  assert.ok(lines.some((line) => line.startsWith('chasqui_event_loop_lag_seconds_count ')));
});

test('whose key is for one organisation sees its apps alone, and not the process', () => {
  const metrics = open();
  metrics.add(use);
  metrics.add({ ...use, org: 'other' });
  const text = metrics.text({ all: false, app: (org) => org === 'acme' });
  metrics.close();
  assert.match(text, /org="acme"/);
  assert.not.match(text, /"other"|process_|event_loop|memory_limit/);
});

test('metrics of inaccessible apps are not read, others once per app', () => {
  const hidden: MeasuredApp = Object.defineProperty({ ...measured('other', 'chat') }, 'running', {
    get: () => assert.unreachable('it was counted'),
  });
  const apps = [hidden, ...Array.from({ length: 50 }, (_, i) => measured('acme', `app-${i}`))];
  const metrics = new CloudMetrics(() => ({ apps, memoryLimitBytes: 4096, queues: [] }));
  for (const { org, name } of apps) metrics.add({ ...use, org, app: name });
  let asked = 0;
  const text = metrics.text({ all: false, app: (org) => ++asked > 0 && org === 'acme' });
  metrics.close();
  assert.is(text.match(/^chasqui_app_failed\{/gm)?.length, 50);
  assert.ok(asked <= 2 * apps.length, `asked ${asked} times`);
});

test('apps that are gone leave no series behind, and make room for others', () => {
  const apps: MeasuredApp[] = [];
  const metrics = new CloudMetrics(() => ({ apps, memoryLimitBytes: 4096, queues: [] }));
  for (let i = 0; i < 1200; i++) {
    apps.splice(0, 1, measured('acme', `app-${i}`));
    metrics.add({ ...use, app: `app-${i}` });
  }
  const counted = () => metrics.text(EVERYTHING).match(/^chasqui_app_requests_total\{.*/gm) ?? [];
  // Those beyond a thousand between two looks are counted as others, and stay so: a counter never goes back.
  const others = 'chasqui_app_requests_total{org="other",app="other",status="200"} 200';
  assert.equal(counted(), [others]);
  metrics.add({ ...use, app: 'app-1199' });
  assert.equal(counted(), [others, 'chasqui_app_requests_total{org="acme",app="app-1199",status="200"} 1']);
  // A request of an app that was deleted meanwhile.
  metrics.add({ ...use, app: 'app-7' });
  assert.is(counted().length, 2);
  metrics.close();
});

test('the page has every metric, with its kind and labels', () => {
  const page = readFileSync('ts/cloud/README.md', 'utf8');
  const said = tableWith(page, 'metric', 'kind', 'labels').rows.map((row) => [row.metric, row.kind, row.labels]);
  const code = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(', ');
  const expected = Object.entries(CLOUD_CATALOGUE).map(([name, { kind, labels }]: [string, MetricRow]) => {
    return [code([`chasqui_${name}`]), kind, code(labels)];
  });
  assert.equal(said, expected);
});

test.run();
