import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { closeApps, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { readSse } from '../support/read-sse.js';

const test = suite('http: several choices, and a full queue');

test.after.each(closeApps);

test('n choices come in one reply, in order, and its usage counts them all', async () => {
  const { chat, engine } = testApp();
  const reply = await chat({ n: 3, seed: 5 });
  assert.is(reply.statusCode, 200, reply.body);
  const { choices, usage } = reply.json();
  assert.equal(
    choices.map((choice: { index: number; message: { content: string } }) => [choice.index, choice.message.content]),
    [0, 1, 2].map((index) => [index, 'Hello!']),
  );
  assert.is(usage.prompt_tokens, 8);
  assert.is(usage.completion_tokens, 12);
  assert.is(usage.total_tokens, 20);
  assert.equal(
    engine.jobs.map(({ sampling }) => sampling.seed),
    [5, 6, 7],
  );
});

test('streamed choices carry their index, each ends with its reason, the usage comes once', async () => {
  const { chat } = testApp();
  const { events, done } = readSse((await chat({ n: 2, stream: true, stream_options: { include_usage: true } })).body);
  assert.ok(done);
  for (const index of [0, 1]) {
    const own = events.filter(({ choices }) => choices[0]?.index === index).map(({ choices }) => choices[0]);
    assert.is(own[0].delta.role, 'assistant');
    assert.is(own.map(({ delta }) => delta.content ?? '').join(''), 'Hello!');
    assert.is(own.at(-1).finish_reason, 'stop');
  }
  assert.is(events.filter(({ usage }) => usage).length, 1);
  assert.is(events.at(-1).usage.completion_tokens, 8);
});

test('when one choice fails the request fails, and no other goes on', async () => {
  const { chat, engine } = testApp({ failAt: 1, failWith: new ChasquiError('decode_failed', 'broken') });
  const reply = await chat({ n: 3 });
  assert.is(reply.statusCode, 500);
  assert.is(engine.running.size, 0);
});

test('a full queue is 429 with Retry-After', async () => {
  const full = new ChasquiError('queue_full', 'busy');
  full.retryAfterSeconds = 7;
  const { chat } = testApp({ failAt: 0, failWith: full });
  for (const stream of [false, true]) {
    const reply = await chat({ stream });
    expectError(reply, { status: 429, type: 'rate_limit_error', code: 'queue_full' });
    assert.is(reply.headers['retry-after'], '7');
  }
});

test.run();
