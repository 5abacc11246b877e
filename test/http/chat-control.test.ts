// POST /v1/chat/completions/control, as in llama-server.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHAT_PATH, chatBody, closeApps, listeningApp } from '../support/build-app.js';
import { until } from '../support/until.js';

const test = suite('http: control of chats');
test.after.each(closeApps);

const json = { 'content-type': 'application/json' };
const KEY = { ...json, authorization: 'Bearer one' };

/** A stream that waits for its second token. */
async function start(body: object) {
  const server = await listeningApp({ manual: true });
  const { engine } = server;
  const begun = until(() => engine.running.size === 1, 'the completion runs').then(() => engine.step());
  const payload = JSON.stringify(chatBody({ stream: true, ...body }));
  const [reply] = await Promise.all([
    fetch(server.url + CHAT_PATH, { method: 'POST', headers: KEY, body: payload }),
    begun,
  ]);
  const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
  const text = new TextDecoder().decode((await reader.read()).value);
  const [, id = ''] = /"id":"([^"]+)"/.exec(text) ?? [];
  const control = (sent: object, headers: Record<string, string> = KEY) =>
    server.app.inject({ method: 'POST', url: `${CHAT_PATH}/control`, headers, payload: sent });
  const end = async () => {
    for (let done = false; !done; ) {
      engine.step();
      ({ done } = await reader.read());
    }
  };
  const [stream] = [...engine.running];
  return { id, control, end, stream };
}

test('a running stream is changed, by its own key only', async () => {
  const { id, control, end, stream } = await start({ reasoning_control: true });
  const outcomes: boolean[] = [];
  for (const [action, headers] of [
    ['reasoning_end', KEY],
    ['stop', KEY],
    ['stop', { ...KEY, authorization: 'Bearer two' }],
  ] as const) {
    const reply = await control({ id, action }, headers);
    assert.is(reply.statusCode, 200, reply.body);
    outcomes.push(reply.json().success);
  }
  assert.equal(outcomes, [true, true, false]);
  assert.equal(stream?.controls, ['endReasoning', 'finish']);
  await end();
  assert.is((await control({ id, action: 'stop' })).json().success, false);
});

test('streams without reasoning_control do not change, and other actions are refused', async () => {
  const { id, control, end, stream } = await start({});
  for (const action of ['reasoning_end', 'stop']) {
    const { success, message } = (await control({ id, action })).json();
    assert.is(success, false);
    assert.match(message, /reasoning_control/);
  }
  assert.equal(stream?.controls, []);
  for (const [body, field] of [
    [{ id, action: 'pause' }, 'action'],
    [{ action: 'stop' }, 'id'],
  ] as const) {
    const reply = await control(body);
    assert.is(reply.statusCode, 400, reply.body);
    assert.match(reply.json().error.message, new RegExp(field));
  }
  await end();
});

test.run();
