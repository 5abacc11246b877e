import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { serverless } from '../../ts/profiles/serverless.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';

const test = suite('http: paths below an organisation and an app');

const deployed = () => testApp({}, { deployment: { org: 'acme', app: 'chat' }, access: 'public' }, serverless);

for (const url of [
  '/acme/chat',
  '/acme/chat/',
  '/acme/chat/v1/models',
  '/acme/chat/v1/models/fake',
  '/acme/chat/health',
]) {
  test(`GET ${url}`, async () => {
    const { app } = deployed();
    assert.is((await app.inject(url)).statusCode, 200);
  });
}

for (const [path, body] of [
  ['v1/completions', { model: 'fake', prompt: 'Once' }],
  ['v1/embeddings', { model: 'fake', input: 'Once' }],
  ['tokenize', { content: 'Once' }],
  ['detokenize', { tokens: [1] }],
  ['apply-template', { messages: [{ role: 'user', content: 'Hi' }] }],
] as const) {
  test(`POST /acme/chat/${path}, and nowhere else`, async () => {
    const { send } = deployed();
    assert.is((await send(`/acme/chat/${path}`, body)).statusCode, 200);
    assert.is((await send(`/${path}`, body)).statusCode, 404);
  });
}

test('the root text names the path of this app', async () => {
  const { app } = deployed();
  assert.match((await app.inject('/acme/chat')).body, 'Start at /acme/chat/v1/models.');
});

const MISTAKEN: [url: string, says: RegExp][] = [
  ['/v1/models', /mean `\/acme\/chat\/v1\/models`\? The base URL of a client must end in `\/acme\/chat\/v1`\.$/],
  ['/models', /mean `\/acme\/chat\/v1\/models`\? The base URL of a client must end in `\/acme\/chat\/v1`\.$/],
  ['/acme/chat/models', /mean `\/acme\/chat\/v1\/models`\? The base URL of a client must end in `\/acme\/chat\/v1`\.$/],
  ['/acme/other/v1/models', /mean `\/acme\/chat\/v1\/models`\?/],
  ['/chat/v1/chat/completions', /mean `\/acme\/chat\/v1\/chat\/completions`\?/],
  [
    '/acme/chat/v1/v1/models',
    /mean `\/acme\/chat\/v1\/models`\? The base URL of your client already ends in `\/v1`\.$/,
  ],
  ['/acme/chat/v1', /mean `\/acme\/chat`\?$/],
  ['/acme/chat/v1/chat/completion', /mean `\/acme\/chat\/v1\/chat\/completions`\?$/],
  ['/nowhere', /`GET \/acme\/chat\/openapi\.json` lists the endpoints\.$/],
];

for (const [url, says] of MISTAKEN) {
  test(`nothing at ${url}`, async () => {
    const { app } = deployed();
    const reply = await app.inject(url);
    expectError(reply, { status: 404, type: 'not_found_error', code: 'unknown_url', says });
    assert.ok(reply.body.length < 300, reply.body);
  });
}

test('a wrong method is told the whole path', async () => {
  const { app } = deployed();
  const reply = await app.inject('/acme/chat/v1/chat/completions');
  expectError(reply, {
    status: 405,
    code: 'method_not_allowed',
    says: /`\/acme\/chat\/v1\/chat\/completions` takes POST, not GET/,
  });
  assert.is(reply.headers.allow, 'POST');
});

test('a path of thousands of parts is not compared part by part', async () => {
  const { app } = deployed();
  const reply = await app.inject(`${'/a'.repeat(7000)}/v1/models`);
  expectError(reply, { status: 404, type: 'not_found_error', code: 'unknown_url', says: /^(?!.*Did you mean)/ });
  // The list of endpoints is fifteen hundred characters, the path nine times that.
  assert.ok(reply.body.length < 3000, String(reply.body.length));
});

test.run();
