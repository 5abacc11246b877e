import type { InjectOptions } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AppOptions } from '../../ts/api/context.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';

const test = suite('http: who may unload a model that others use');

/** The pool of this server refuses to unload its only model: with that a request has passed. */
async function unload(given: InjectOptions, force = true, options: AppOptions = {}): Promise<string> {
  const profile = options.access === undefined ? runtime : { ...runtime, authentication: 'bearer' as const };
  const { app, engine } = testApp({}, options, profile);
  const headers = { 'content-type': 'application/json', ...given.headers };
  const payload = { model: engine.model.id, force };
  const response = await app.inject({ ...given, method: 'POST', url: '/models/unload', headers, payload });
  if (response.statusCode === 403) {
    expectError(response, {
      status: 403,
      type: 'permission_error',
      code: 'permission_denied',
      param: 'force',
      says: /force/,
    });
  }
  return response.json().error.code;
}

for (const remoteAddress of ['127.0.0.1', '127.8.0.1', '::1', '::ffff:127.0.0.1']) {
  test(`${remoteAddress} may`, async () => {
    assert.is(await unload({ remoteAddress }), 'unsupported_parameter');
  });
}

for (const remoteAddress of ['192.168.1.7', '203.0.113.5', '2001:db8::1', '::ffff:10.0.0.1']) {
  test(`${remoteAddress} may not, but may without force`, async () => {
    assert.is(await unload({ remoteAddress }), 'permission_denied');
    assert.is(await unload({ remoteAddress }, false), 'unsupported_parameter');
  });
}

for (const name of ['forwarded', 'X-Forwarded-For', 'x-real-ip', 'via']) {
  test(`a proxy on this machine that sends ${name} may not`, async () => {
    assert.is(await unload({ remoteAddress: '127.0.0.1', headers: { [name]: '203.0.113.5' } }), 'permission_denied');
  });
}

test('from elsewhere with a key, where keys are asked for', async () => {
  const options: AppOptions = { access: (key) => key === 'k' };
  const from = { remoteAddress: '203.0.113.5' };
  assert.is(await unload({ ...from, headers: { authorization: 'Bearer k' } }, true, options), 'unsupported_parameter');
  assert.is(await unload(from, true, options), 'invalid_api_key');
});

test.run();
