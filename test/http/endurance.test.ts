import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { CHAT_PATH, chatBody, closeApps, listeningApp } from '../support/build-app.js';
import { readJson } from '../support/read-json.js';

const test = suite('http: a thousand bad requests');

test.after.each(closeApps);

const user = { role: 'user', content: 'Hi' };

const BAD: [body: string, status: number, headers?: Record<string, string>, path?: string][] = [
  ['{"model":', 400],
  ['', 400],
  ['[]', 400],
  [JSON.stringify(chatBody({ temperature: '0.5' })), 400],
  [JSON.stringify(chatBody({ messages: [] })), 400],
  [JSON.stringify(chatBody({ messages: [{ ...user, role: 'robot' }] })), 400],
  [JSON.stringify(chatBody({ user: 'x'.repeat(20_000) })), 413],
  [JSON.stringify(chatBody({ messages: [{ ...user, content: 'x'.repeat(6000) }] })), 400],
  [JSON.stringify(chatBody({ messages: [{ ...user, content: 'x'.repeat(6000) }], stream: true })), 400],
  [
    JSON.stringify(chatBody({ messages: [{ ...user, content: [{ type: 'image_url', image_url: { url: 'x' } }] }] })),
    400,
  ],
  [JSON.stringify(chatBody()), 415, { 'content-type': 'text/plain' }],
  [JSON.stringify(chatBody({ model: 'other' })), 404],
  [JSON.stringify(chatBody()), 404, {}, '/v1/nowhere'],
  [JSON.stringify(chatBody()), 405, {}, '/v1/models'],
  [JSON.stringify(chatBody({ max_tokens: 0 })), 400],
  [JSON.stringify(chatBody({ n: 0 })), 400],
  [JSON.stringify(chatBody({ stop: ['FAIL'] })), 500],
  [JSON.stringify(chatBody({ stop: ['FAIL'], stream: true })), 500],
];

test('the server still answers, and no sequence is held', async () => {
  const { engine, url } = await listeningApp({}, { bodyLimit: 10_000 });
  const submit = engine.submit.bind(engine);
  engine.submit = (job, options) => {
    const fails = job.stop[0] === 'FAIL';
    engine.play(fails ? { failAt: 0, failWith: new ChasquiError('decode_failed', 'Broken.') } : { failAt: -1 });
    return submit(job, options);
  };
  for (let sent = 0; sent < 1000; sent += 10) {
    await Promise.all(Array.from({ length: 10 }, (_, i) => sendBad(url, sent + i)));
  }
  assert.is(engine.running.size, 0);
  const health = await readJson(await fetch(`${url}/health`));
  assert.equal([health.active, health.queued], [0, 0]);
  const reply = await post(url + CHAT_PATH, JSON.stringify(chatBody()));
  assert.is((await readJson(reply)).choices[0].message.content, 'Hello!');
});

async function sendBad(url: string, number: number): Promise<void> {
  const [body, status, headers, path = CHAT_PATH] = BAD[number % BAD.length] ?? ['', 400];
  const reply = await post(url + path, body, headers);
  assert.is(reply.status, status, `${path} ${body.slice(0, 200)}`);
  const { error } = await readJson(reply);
  assert.type(error.code, 'string');
}

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
}

test.run();
