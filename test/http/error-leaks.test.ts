// Errors reveal no details of the machine and have a bounded length.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError, type ErrorCode } from '../../ts/errors.js';
import { KeyStore } from '../../ts/keys/key-store.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { CHAT_PATH, testApp } from '../support/build-app.js';
import { cpuMs } from '../support/cpu-time.js';
import { expectError } from '../support/expect-error.js';
import { DEPLOYMENT } from '../support/modes.js';

const test = suite('http: what failures give away');

const SECRET = '/home/somebody/models/secret.gguf:12';
const FAULTS: ErrorCode[] = ['out_of_memory', 'decode_failed', 'internal_error'];
const messages = [{ role: 'user', content: 'Hi' }];
const BODIES: [url: string, body: object][] = [
  [CHAT_PATH, { messages }],
  ['/v1/completions', { prompt: 'Hi' }],
  ['/v1/responses', { input: 'Hi' }],
  ['/v1/messages', { messages, max_tokens: 5 }],
];

test('no error tells of paths, whenever and in whichever protocol it comes', async () => {
  for (const code of FAULTS) {
    const failWith = new ChasquiError(code, `It failed at ${SECRET}`, null, { cause: new Error(SECRET) });
    for (const [url, body] of BODIES) {
      for (const [stream, failAt] of [
        [false, 0],
        [true, 0],
        [true, 1],
      ] as const) {
        const { send, serverErrors } = testApp({ failAt, failWith });
        const reply = await send(url, { model: 'fake', stream, ...body });
        assert.is(reply.statusCode, failAt === 0 ? 500 : 200);
        assert.match(reply.body, new RegExp(`"code":"${code}"`));
        assert.not.match(reply.body, /secret|somebody/, `${url} ${code}`);
        assert.match(reply.body, /under request req_/);
        assert.equal(serverErrors, [failWith], 'the log has all of it');
      }
    }
  }
});

test('neither does the database of keys', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-keys-'));
  const keys = KeyStore.open(folder);
  const { key } = keys.create();
  keys.close();
  try {
    const access = (sent: string) => keys.admits(sent, DEPLOYMENT.org);
    const { app, serverErrors } = testApp({}, { deployment: DEPLOYMENT, access }, serverless);
    const url = `/${DEPLOYMENT.org}/${DEPLOYMENT.app}/v1/models`;
    const reply = await app.inject({ url, headers: { authorization: `Key ${key}` } });
    expectError(reply, { status: 500, type: 'server_error', code: 'key_store_failed', says: /under request req_/ });
    assert.not.match(reply.body, /chasqui\.db|chasqui-keys|tmp/);
    assert.match(String((serverErrors[0] as Error).message), /chasqui\.db/);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('error messages truncate values of the request', async () => {
  const { send } = testApp();
  const long = 'x'.repeat(300_000);
  const schema = { type: 'object', properties: { [long]: { type: 'string', format: 'color' } } };
  const strict = { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } };
  const { body } = await send(CHAT_PATH, { model: 'fake', messages, response_format: strict });
  assert.is(JSON.parse(body).error.code, 'unsupported_parameter');
  assert.ok(body.length < 4000, `${body.length} characters`);
});

test('a field whose name is all dots is found at once', async () => {
  const { send } = testApp();
  const schema = { type: 'object', properties: { ['.'.repeat(400_000)]: { type: 'string', format: 'color' } } };
  const format = { type: 'json_schema', name: 'x', strict: true, schema };
  const begun = cpuMs();
  const { body } = await send('/v1/responses', { model: 'fake', input: 'Hi', text: { format } });
  assert.is(JSON.parse(body).error.param.slice(0, 30), 'text.format.schema.properties.');
  // It took minutes.
  assert.ok(cpuMs() - begun < 5000, `${cpuMs() - begun} ms`);
});

test('names of ignored fields do not make a header that clients refuse', async () => {
  const { send } = testApp();
  const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`${'漢'.repeat(60)}${i}\r\nx: y`, 1]));
  const { headers, statusCode } = await send(CHAT_PATH, { model: 'fake', messages, ...unknown });
  assert.is(statusCode, 200);
  assert.match(String(headers['x-chasqui-ignored']), /^[\w%;=, -]{1,4096}, \.\.\.$/);
  assert.is(headers.x, undefined);
});

test.run();
