import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { VERSION } from '../../ts/version.js';
import { CHAT_PATH, chatBody, closeApps, listeningApp, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { finishOf } from '../support/fake-engine.js';
import { LOGPROB_BATCHES, LOGPROB_ENTRIES } from '../support/logprob-tokens.js';
import { readSse } from '../support/read-sse.js';
import { until } from '../support/until.js';

const test = suite('http: a streamed reply');

test.after.each(closeApps);

test('has the published chunks and headers', async () => {
  const { chat, engine } = testApp();
  const reply = await chat({ stream: true, quux: 1 });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(reply.headers['content-type'], 'text/event-stream; charset=utf-8');
  assert.is(reply.headers['cache-control'], 'no-cache');
  assert.is(reply.headers['x-accel-buffering'], 'no');
  assert.is(reply.headers['x-chasqui-ignored'], 'quux');
  assert.match(String(reply.headers['x-request-id']), /^req_/);

  const { events, done } = readSse(reply.body);
  assert.ok(done);
  const [{ id, created }] = events;
  assert.match(id, /^chatcmpl-[0-9a-f]{32}$/);
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id,
    object: 'chat.completion.chunk',
    created,
    model: 'fake',
    system_fingerprint: `chasqui-${VERSION}`,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  });
  assert.equal(events, [
    chunk({ role: 'assistant', content: null }),
    chunk({ content: 'Hel' }),
    chunk({ content: 'lo' }),
    chunk({ content: '!' }),
    chunk({ content: null }, 'stop'),
  ]);
  assert.is(engine.running.size, 0);
});

test('the usage chunk is there only when asked for, and then null elsewhere', async () => {
  const { chat } = testApp();
  const without = readSse((await chat({ stream: true, stream_options: { include_usage: false } })).body);
  assert.not.ok(without.events.some((event) => 'usage' in event));
  const { events } = readSse((await chat({ stream: true, stream_options: { include_usage: true } })).body);
  const last = events.pop();
  assert.equal(last.choices, []);
  assert.equal(last.usage, {
    prompt_tokens: 8,
    completion_tokens: 4,
    total_tokens: 12,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  });
  assert.equal(
    events.map(({ usage }) => usage),
    Array(5).fill(null),
  );
});

test('with continuous_usage_stats each chunk has the usage so far, if there is one at the end', async () => {
  const { app, chat } = testApp({ batches: () => [[{ text: 'a' }], [{ text: 'b' }, { text: '' }]] });
  const counts = (body: string) => readSse(body).events.map(({ usage }) => usage?.completion_tokens);
  const stream_options = { include_usage: true, continuous_usage_stats: true };
  const said = { stream: true, stream_options };
  assert.equal(counts((await chat(said)).body), [0, 1, 3, 3, 3]);
  const payload = { model: 'fake', prompt: ['A', 'B'], ...said };
  const text = await app.inject({ method: 'POST', url: '/v1/completions', payload });
  assert.is(text.statusCode, 200, text.body);
  assert.equal(counts(text.body).slice(-2), [6, 6]);
  const alone = await chat({ stream: true, stream_options: { continuous_usage_stats: true } });
  assert.equal(counts(alone.body), Array(4).fill(undefined));
});

test('chunks are the same text as the whole reply', async () => {
  const text = 'quotes " \\ and \u2028 lines\n\ndata: x\n\n \u0000 👩‍🚀 </script>';
  const { chat } = testApp({ batches: () => [[...text].map((character) => ({ text: character }))] });
  const { events } = readSse((await chat({ stream: true })).body);
  assert.is(events.map((event) => event.choices[0].delta.content ?? '').join(''), text);
});

test('text that comes with the last token is its own chunk', async () => {
  const { chat } = testApp({ batches: () => [[{ text: 'end', finish: finishOf(1, 1, { reason: 'length' }) }]] });
  const { events } = readSse((await chat({ stream: true })).body);
  assert.equal(
    events.map(({ choices: [{ delta, finish_reason }] }) => [delta, finish_reason]),
    [
      [{ role: 'assistant', content: null }, null],
      [{ content: 'end' }, null],
      [{ content: null }, 'length'],
    ],
  );
});

test('log-probabilities of text that is held back come with the text', async () => {
  const { chat } = testApp({ batches: () => LOGPROB_BATCHES });
  const { events } = readSse((await chat({ stream: true, logprobs: true, top_logprobs: 2 })).body);
  const contents = events.map((event) => event.choices[0].logprobs?.content.length ?? 0);
  assert.equal(contents, [0, 1, 2, 0]);
  assert.equal(
    events.flatMap((event) => event.choices[0].logprobs?.content ?? []),
    LOGPROB_ENTRIES,
  );
});

test('one wake of the engine is one write', async () => {
  const { engine, url } = await listeningApp({ manual: true });
  const reply = fetch(url + CHAT_PATH, post({ stream: true }));
  await until(() => engine.running.size === 1, 'the job is submitted');
  engine.step();
  const reader = (await reply).body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const first = await readText(reader);
  assert.is(readSse(first).events.length, 2);
  engine.step();
  assert.match(await readText(reader), /"lo".*\n\n.*"!".*\n\n/s);
  await reader.cancel();
});

test('a failure before the first token is an ordinary error reply', async () => {
  const failWith = new ChasquiError('context_length_exceeded', '9 tokens, but 8 fit.');
  const { chat, engine } = testApp({ failAt: 0, failWith });
  expectError(await chat({ stream: true }), {
    status: 400,
    code: 'context_length_exceeded',
    param: 'messages',
    says: /9 tokens, but 8 fit/,
  });
  assert.is(engine.running.size, 0);
});

test('a failure after that is an error frame, and no [DONE]', async () => {
  const failWith = new ChasquiError('decode_failed', 'The model broke.');
  const { chat, serverErrors } = testApp({ failAt: 1, failWith });
  const reply = await chat({ stream: true });
  assert.is(reply.statusCode, 200);
  const { events, done } = readSse(reply.body);
  assert.not.ok(done);
  const { error, ...rest } = events.at(-1);
  assert.equal(rest, {});
  assert.match(error.message, /evaluation of the model failed.* under request req_/);
  assert.equal({ ...error, message: '' }, { message: '', type: 'server_error', param: null, code: 'decode_failed' });
  assert.equal(serverErrors, [failWith]);
});

test('a stream that just stops does not look complete', async () => {
  const { chat, serverErrors } = testApp({ unfinished: true });
  const { events, done } = readSse((await chat({ stream: true })).body);
  assert.not.ok(done);
  assert.is(events.at(-1).error.code, 'internal_error');
  assert.is(serverErrors.length, 1);
});

test('a long wait for the first token begins the reply with comments', async () => {
  const { engine, url } = await listeningApp({ manual: true }, { keepAliveMs: 5 });
  const reply = await fetch(url + CHAT_PATH, post({ stream: true }));
  assert.is(reply.status, 200);
  let text = '';
  const collected = (async () => {
    for await (const bytes of reply.body ?? []) text += Buffer.from(bytes).toString('utf8');
  })();
  await until(() => text.split(': keep-alive\n\n').length > 2, 'two comments arrive');
  for (const stream of engine.running) stream.fail(new ChasquiError('out_of_memory', 'No memory.'));
  await collected;
  const { events, comments, done } = readSse(text);
  assert.equal(new Set(comments), new Set(['keep-alive']));
  assert.is(events[0].error.code, 'out_of_memory');
  assert.not.ok(done);
});

test('no comment is sent while tokens come', async () => {
  const { chat } = testApp(
    { batches: () => Array.from({ length: 50 }, () => [{ text: 'x' }]) },
    { keepAliveMs: 60_000 },
  );
  assert.equal(readSse((await chat({ stream: true })).body).comments, []);
});

function post(body: Record<string, unknown>): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(chatBody(body)) };
}

async function readText(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const { value } = await reader.read();
  return Buffer.from(value ?? []).toString('utf8');
}

test.run();
