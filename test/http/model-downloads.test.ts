// Downloads and deletions of models in the form of llama-server's router, with a library that the test controls.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ModelLibrary, PullProgress, PullWatch } from '../../ts/api/shared/model-library.js';
import { ChasquiError } from '../../ts/errors.js';
import { closeApps, listeningApp, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { until } from '../support/until.js';

const test = suite('http: downloads of models');
test.after.each(closeApps);

const URL = '/v1/models';
const MODEL = 'ada/demo-GGUF:Q4_K_M';
const DIGEST = 'a'.repeat(64);

interface Pull {
  name: string;
  watch: PullWatch;
  progress(completedBytes: number): void;
  finish(): void;
  fail(error: unknown): void;
}

/** Pulls last until the test ends them. */
class PlayedLibrary implements ModelLibrary {
  readonly pulls: Pull[] = [];
  readonly removed: string[] = [];
  refusal: ChasquiError | null = null;

  pull(name: string, watch: PullWatch): Promise<void> {
    if (this.refusal !== null) return Promise.reject(this.refusal);
    return new Promise((finish, fail) => {
      const progress = (completedBytes: number): void => {
        const files: PullProgress['files'] = [{ digest: DIGEST, totalBytes: 100, completedBytes }];
        watch.onProgress?.({ files, isVerifying: false });
      };
      watch.signal.addEventListener('abort', () => fail(watch.signal.reason));
      this.pulls.push({ name, watch, progress, finish, fail });
    });
  }

  async remove(name: string): Promise<void> {
    if (this.refusal !== null) throw this.refusal;
    this.removed.push(name);
  }
}

async function begun(library: PlayedLibrary, count = 1): Promise<Pull> {
  await until(() => library.pulls.length === count, 'the pull has begun');
  return library.pulls[count - 1] as Pull;
}

/** Reads the events of downloads until the server stops. */
async function collect(url: string): Promise<Record<string, unknown>[]> {
  const events: Record<string, unknown>[] = [];
  const { body } = await fetch(`${url}/models/sse`);
  const read = async () => {
    let text = '';
    for await (const piece of (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
      const frames = `${text}${piece}`.split('\n\n');
      text = frames.pop() ?? '';
      for (const frame of frames) if (frame.startsWith('data: ')) events.push(JSON.parse(frame.slice(6)));
    }
  };
  read().catch(() => {});
  await until(() => events.length === 1, 'the state of the model comes first');
  return events;
}

for (const path of [URL, '/models']) {
  test(`${path}: the reply comes with the first progress, the rest as events and in the list`, async () => {
    const library = new PlayedLibrary();
    const { url } = await listeningApp({}, { library });
    const events = await collect(url);
    const headers = { 'content-type': 'application/json' };
    let isReplied = false;
    const replied = fetch(url + path, { method: 'POST', headers, body: JSON.stringify({ model: MODEL }) });
    replied.then(() => {
      isReplied = true;
    });
    const pull = await begun(library);
    assert.is(pull.name, MODEL);
    assert.not.ok(isReplied);
    pull.progress(0);
    const reply = await replied;
    assert.equal([reply.status, await reply.json()], [200, { success: true }]);

    pull.progress(40);
    const progress = { [`sha256:${DIGEST}`]: { done: 40, total: 100 } };
    const listed = async () => {
      const { data } = (await (await fetch(url + path)).json()) as { data: { id: string; status: unknown }[] };
      return data.find(({ id }) => id === MODEL)?.status;
    };
    assert.equal(await listed(), { value: 'downloading', progress });
    await until(() => events.length === 3, 'progress is reported');
    assert.equal(events[2], { model: MODEL, event: 'download_progress', data: { progress } });
    pull.finish();
    await until(() => events.length === 4, 'the end is reported');
    assert.equal(events[3], { model: MODEL, event: 'download_finished' });
    assert.is(await listed(), undefined, 'only the pool lists a complete model');
  });
}

test('a download that fails later is an event with the reason, without internal details', async () => {
  const library = new PlayedLibrary();
  const { url, send, serverErrors } = await listeningApp({}, { library });
  const events = await collect(url);
  for (const [at, error, reason] of [
    [1, new ChasquiError('no_space', 'The disk is full.'), /^The disk is full\.$/],
    [2, new Error('/secret/path'), /^(?!.*secret)/],
  ] as const) {
    const replied = send(URL, { model: MODEL });
    const pull = await begun(library, at);
    pull.progress(0);
    assert.is((await replied).statusCode, 200);
    pull.fail(error);
    await until(() => events.at(-1)?.event === 'download_failed' && events.length === 1 + 2 * at, 'it has failed');
    assert.match((events.at(-1) as { data: { reason: string } }).data.reason, reason);
  }
  assert.is(serverErrors.length, 1);
});

test('errors before the first progress are the reply', async () => {
  const library = new PlayedLibrary();
  const { send } = testApp({}, { library });
  library.refusal = new ChasquiError('hub_model_not_found', 'There is no such model.', 'model');
  expectError(await send(URL, { model: 'no/model' }), {
    status: 404,
    type: 'not_found_error',
    code: 'hub_model_not_found',
    param: 'model',
  });
  library.refusal = null;

  expectError(await send(URL, { model: 'fake' }), { status: 409, code: 'model_exists', param: 'model' });
  const replied = send(URL, { model: MODEL });
  (await begun(library)).progress(0);
  await replied;
  expectError(await send(URL, { model: MODEL }), { status: 409, code: 'model_exists', param: 'model' });
});

test('the number of downloads is limited', async () => {
  const library = new PlayedLibrary();
  const { app, send } = testApp({}, { library });
  const replies = Array.from({ length: 16 }, (_, index) => send(URL, { model: `ada/m${index}` }));
  await begun(library, 16);
  const refused = await send(URL, { model: 'ada/one-more' });
  expectError(refused, { status: 429, type: 'rate_limit_error', code: 'queue_full', param: null });
  assert.is(refused.headers['retry-after'], '30');
  for (const pull of library.pulls) pull.progress(0);
  for (const reply of replies) assert.is((await reply).statusCode, 200);
  library.pulls[0]?.finish();
  await until(async () => (await app.inject(URL)).json().data.length === 16, 'one has ended');
  const after = send(URL, { model: 'ada/one-more' });
  (await begun(library, 17)).progress(0);
  assert.is((await after).statusCode, 200);
});

test('/models/unload pauses a download, and the stop of the server ends all', async () => {
  const library = new PlayedLibrary();
  const { app, send } = testApp({}, { library });
  for (const count of [1, 2]) {
    const replied = send(URL, { model: MODEL });
    (await begun(library, count)).progress(0);
    await replied;
    if (count === 1) assert.equal((await send('/models/unload', { model: MODEL })).json(), { success: true });
  }
  const reasonOf = (at: number) => (library.pulls[at]?.watch.signal.reason as ChasquiError | undefined)?.code;
  assert.is(reasonOf(0), 'client_closed_request');
  assert.is(reasonOf(1), undefined);
  await app.close();
  assert.ok(library.pulls[1]?.watch.signal.aborted);
});

test('DELETE takes the name from the query', async () => {
  const library = new PlayedLibrary();
  const { app } = testApp({}, { library });
  const remove = (url: string) => app.inject({ method: 'DELETE', url });
  for (const path of [URL, '/models']) {
    const reply = await remove(`${path}?model=${encodeURIComponent(MODEL)}`);
    assert.equal([reply.statusCode, reply.json()], [200, { success: true }]);
  }
  assert.equal(library.removed, [MODEL, MODEL]);
  for (const [query, code] of [
    ['', 'missing_required_parameter'],
    ['?model=', 'missing_required_parameter'],
    ['?model=a&model=b', 'invalid_value'],
  ] as const) {
    expectError(await remove(URL + query), { status: 400, code, param: 'model' });
  }
  library.refusal = new ChasquiError('not_deletable', 'It is built in.', 'model');
  expectError(await remove(`${URL}?model=x`), { status: 409, code: 'not_deletable', param: 'model' });
});

test('hostile bodies are a clear 400', async () => {
  const library = new PlayedLibrary();
  const { send } = testApp({}, { library });
  for (const [body, param, code = 'invalid_type'] of [
    [{}, 'model', 'missing_required_parameter'],
    [{ model: 1 }, 'model'],
    [{ model: null }, 'model', 'missing_required_parameter'],
    [{ model: ['a/b'] }, 'model'],
    [{ model: { toString: 'a/b' } }, 'model'],
    [{ model: '' }, 'model', 'invalid_value'],
    [{ model: 'a'.repeat(401) }, 'model', 'invalid_value'],
    [[], null],
  ] as const) {
    const reply = await send(URL, body);
    expectError(reply, { status: 400, code, param });
  }
  assert.equal(library.pulls, []);
});

test('without permission neither method exists', async () => {
  const { app, send } = testApp();
  for (const path of [URL, '/models']) {
    assert.is((await send(path, { model: MODEL })).statusCode, 405);
    assert.is((await app.inject({ method: 'DELETE', url: `${path}?model=x` })).statusCode, 405);
  }
});

test.run();
