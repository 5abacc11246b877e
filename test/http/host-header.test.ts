import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AppOptions } from '../../ts/api/context.js';
import { OPTION_NAMES } from '../../ts/cli/options/option-names.js';
import { desktop } from '../../ts/profiles/desktop.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';

const test = suite('http: the Host header');

const OWN = [
  'localhost',
  'LOCALHOST:8080',
  'app.localhost:1',
  '127.0.0.1:8080',
  '[::1]:8080',
  '192.168.1.7',
  'localhost.',
  'host.docker.internal:8080',
  'gpu.corp.internal.',
];
const FOREIGN = [
  'evil.example',
  'evil.example:8080',
  'localhost.evil.example',
  'evillocalhost',
  '127.0.0.1.evil.example',
  'internal',
  '.internal',
  'host.internal.evil.example',
  'x',
  '[::1',
  'a b',
];

for (const profile of [runtime, desktop]) {
  for (const host of OWN) {
    test(`${profile.mode}: ${host} is this server`, async () => {
      const { app } = testApp({}, {}, profile);
      assert.is((await app.inject({ url: '/v1/models', headers: { host } })).statusCode, 200);
    });
  }

  for (const host of FOREIGN) {
    test(`${profile.mode}: ${host} is not`, async () => {
      const { post, engine } = testApp({}, { optionNames: OPTION_NAMES }, profile);
      expectError(await post('{ no JSON', { host }), {
        status: 403,
        type: 'permission_error',
        code: 'host_not_allowed',
        says: /add the name to `--allowed-host`/,
      });
      assert.is(engine.jobs.length, 0);
    });
  }
}

test('further names can be allowed, or any', async () => {
  const status = async (allowedHosts: string[], host: string) => {
    const { app } = testApp({}, { allowedHosts });
    return (await app.inject({ url: '/health', headers: { host } })).statusCode;
  };
  assert.is(await status(['gpu.example'], 'GPU.example:8080'), 200);
  assert.is(await status(['gpu.example'], 'other.example'), 403);
  assert.is(await status(['*'], 'other.example'), 200);
});

test('names without a dot are taken where the server is open to others', async () => {
  const status = async (host: string) => {
    const { app } = testApp({}, { allowsDotlessHosts: true });
    return (await app.inject({ url: '/health', headers: { host } })).statusCode;
  };
  for (const host of ['chasqui:8080', 'my_gpu-1', 'x']) assert.is(await status(host), 200, host);
  for (const host of ['evil.example', '[::1', 'a b', 'x.', 'chasqui.evil.example']) {
    assert.is(await status(host), host === 'x.' ? 200 : 403, host);
  }
});

test('serverless lies behind whatever name its host has', async () => {
  const options: AppOptions = { deployment: { org: 'acme', app: 'chat' }, access: 'public' };
  const { app } = testApp({}, options, serverless);
  const reply = await app.inject({ url: '/acme/chat/v1/models', headers: { host: 'cloud.example' } });
  assert.is(reply.statusCode, 200);
});

test.run();
