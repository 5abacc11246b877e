// Clients that leave a download and join it again at the same time.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../../ts/errors.js';
import type { DownloadJob, Downloads } from '../../../ts/hub/downloads.js';
import { ClientLibrary } from '../../../ts/server/client-library.js';

const MODEL = 'ada/demo-GGUF:Q8_0';
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** One download. The test ends its start and its pause. */
function played() {
  const calls: string[] = [];
  const listeners = new Set<(job: DownloadJob) => void>();
  const job = { id: 'dl_1', model: MODEL, state: 'queued', error: null } as DownloadJob;
  const begun: (() => void)[] = [];
  const paused: (() => void)[] = [];
  const become = (state: DownloadJob['state']): void => {
    job.state = state;
    for (const listener of [...listeners]) listener(job);
  };
  const downloads = {
    list: () => (calls.length === 0 ? [] : [job]),
    find: () => job,
    filesOf: () => [],
    on: (listener: (job: DownloadJob) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start: async () => {
      await new Promise<void>((resolve) => begun.push(resolve));
      calls.push('start');
      become('downloading');
      return job;
    },
    pause: async () => {
      calls.push('pause');
      await new Promise<void>((resolve) => paused.push(resolve));
      become('paused');
      return job;
    },
  } as unknown as Downloads;
  const models = { list: async () => [], refresh: async () => {}, remove: async () => {} };
  const library = new ClientLibrary({ downloads, models });
  const pull = () => {
    const leave = new AbortController();
    const ended = library.pull(MODEL, { signal: leave.signal }).then(
      () => 'complete',
      (error: ChasquiError) => error.code,
    );
    return { ended, leave: () => leave.abort(new ChasquiError('client_closed_request', 'It left.')) };
  };
  return { calls, begun, paused, become, pull };
}

test('a client that comes while the download is being paused resumes it afterwards', async () => {
  const { calls, begun, paused, become, pull } = played();
  const first = pull();
  await settled();
  begun[0]?.();
  await settled();
  first.leave();
  await settled();
  const second = pull();
  await settled();
  assert.equal([calls, begun.length], [['start', 'pause'], 1]);
  paused[0]?.();
  await settled();
  assert.is(await first.ended, 'client_closed_request');
  begun[1]?.();
  await settled();
  assert.equal(calls, ['start', 'pause', 'start']);
  become('completed');
  assert.is(await second.ended, 'complete');
});

test('a download is not paused while another client is about to join it', async () => {
  const { calls, begun, become, pull } = played();
  const first = pull();
  await settled();
  begun[0]?.();
  await settled();
  const second = pull();
  await settled();
  first.leave();
  await settled();
  begun[1]?.();
  await settled();
  assert.is(await first.ended, 'client_closed_request');
  assert.equal(calls, ['start', 'start']);
  become('completed');
  assert.is(await second.ended, 'complete');
});

test.run();
