// What is told of a runner that has ended.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LiveRunner, type RunnerEnd } from '../../../../ts/cloud/apps/live-runner.js';
import type { RunnerStatus } from '../../../../ts/cloud/runners/protocol.js';

const FACTS = { id: 'r1', revision: 1, slots: 1, bytes: 1, gpus: [], startMs: 60_000, drainMs: 0 };

test('why a runner failed is told in one line, and does not control the terminal of who reads it', () => {
  const ends: RunnerEnd[] = [];
  const nothing = () => undefined;
  const hooks = { onChange: nothing, onProgress: nothing, lastLogLine: () => '' };
  const { listener } = new LiveRunner(FACTS, { ...hooks, onEnd: (_runner, end) => ends.push(end) });
  const failure: RunnerStatus['failure'] = { code: 'engine_failed', message: 'It\x1b]0;title\x07\u009b2J\r\nfailed.' };
  listener.onStatus({ bootId: 'b1', pid: 7, state: 'failed', fraction: 0, models: [], failure });
  listener.onEnd('it ended with exit code 1', false);
  assert.equal(ends, [{ state: 'CRASHED', reason: 'It ]0;title 2J failed.', isPermanent: false }]);
});

test('the memory limit is the reason of an end, whatever the runner has reported before', () => {
  const ends: RunnerEnd[] = [];
  const nothing = () => undefined;
  const hooks = { onChange: nothing, onProgress: nothing, lastLogLine: () => 'a log line' };
  const { listener } = new LiveRunner(FACTS, { ...hooks, onEnd: (_runner, end) => ends.push(end) });
  const failure: RunnerStatus['failure'] = { code: 'model_load_failed', message: 'The process ended.' };
  listener.onStatus({ bootId: 'b1', pid: 7, state: 'failed', fraction: 0, models: [], failure });
  listener.onEnd('it ran out of memory: its limit is 260 MiB', true);
  assert.equal(ends, [{ state: 'CRASHED', reason: 'it ran out of memory: its limit is 260 MiB', isPermanent: false }]);
});

test.run();
