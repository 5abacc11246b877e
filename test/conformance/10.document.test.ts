import { Validator } from '@seriousme/openapi-schema-validator';
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';
import { MODES, PROFILES } from '../support/modes.js';
import { documentOf, documentOfDesktopServer, endpointsOf } from './documents.js';

const test = suite('conformance: the OpenAPI document');

for (const mode of MODES) {
  test(`is a valid OpenAPI 3.1 document (${mode})`, async () => {
    const result = await new Validator().validate(JSON.parse(JSON.stringify(await documentOf(mode))));
    assert.equal(result.errors ?? [], []);
    assert.ok(result.valid);
  });

  test(`describes every field of a body, and what stands in a path (${mode})`, async () => {
    const { paths, components } = await documentOf(mode);
    for (const [path, methods] of Object.entries(paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const { parameters = [] } of Object.values(methods) as { parameters?: { name: string }[] }[]) {
        assert.equal(
          parameters.map(({ name }) => name),
          named,
          path,
        );
      }
    }
    const requests = Object.entries(components.schemas).filter(([name]) => name.endsWith('Request'));
    assert.ok(requests.length > 0);
    for (const [name, { properties }] of requests) {
      const fields = Object.entries(properties as Record<string, { description?: string }>);
      assert.equal(
        fields.filter(([, { description }]) => !description).map(([field]) => `${name}.${field}`),
        [],
      );
    }
  });
}

for (const mode of ['runtime', 'desktop'] as const) {
  test(`leaves no route out (${mode})`, async () => {
    const listed: string[] = [];
    const routes = (fastify: FastifyInstance): void => {
      fastify.addHook('onRoute', (route) => {
        const { method, url } = route;
        // OpenAPI has no WebSockets; the description of `POST` mentions this one.
        if ('wsHandler' in route) return;
        // Several methods are those that a path refuses.
        if (typeof method !== 'string' || method === 'HEAD' || method === 'OPTIONS') return;
        listed.push(`${method} ${url.replace('*', '{id}').replace(/:(\w+)/g, '{$1}')}`);
      });
    };
    await testApp({}, { routes }, PROFILES[mode]).app.ready();
    assert.equal(listed.sort(), endpointsOf(await documentOf(mode)).sort());
  });
}

/** Endpoints of other local model servers, in the local modes. */
const LOCAL =
  /^[A-Z]+ (\/api\/|\/(audio\/transcriptions|(v1\/)?chat\/completions\/(input_tokens|control)|chat\/completions|responses(\/input_tokens)?|models|embeddings?|completions?|infill|predict|props|slots|lora-adapters|rerank|reranking|v1\/streams?(\/lookup)?)$)/;

test('has the same endpoints in every mode, and those of other programs in the local ones', async () => {
  const [runtime = [], desktop = [], serverless = []] = await Promise.all(
    MODES.map(async (mode) => endpointsOf(await documentOf(mode))),
  );
  assert.equal(desktop, runtime);
  assert.equal(
    serverless,
    runtime.filter((endpoint) => !LOCAL.test(endpoint)),
  );
  assert.ok(serverless.length < runtime.length);
});

test('has what clients may do with models where the desktop app serves, and is valid there, too', async () => {
  const document = await documentOfDesktopServer();
  const usual = endpointsOf(await documentOf('desktop'));
  const more = endpointsOf(document).filter((endpoint) => !usual.includes(endpoint));
  const paths = ['/models', '/v1/models'];
  const native = [...paths.map((path) => `DELETE ${path}`), ...paths.map((path) => `POST ${path}`)];
  assert.equal(more.sort(), ['DELETE /api/delete', 'POST /api/pull', ...native].sort());
  const { errors = [] } = await new Validator().validate(JSON.parse(JSON.stringify(document)));
  assert.equal(errors, []);
});

test('shows the defaults and the parameters of its mode', async () => {
  const fields = async (mode: (typeof MODES)[number]) =>
    (await documentOf(mode)).components.schemas.ChatCompletionRequest?.properties as Record<
      string,
      { default?: number }
    >;
  assert.is((await fields('runtime')).top_k?.default, 50);
  assert.is((await fields('desktop')).top_k?.default, 40);
  assert.ok('repeat_penalty' in (await fields('desktop')));
  assert.not.ok('repeat_penalty' in (await fields('runtime')));
});

test('asks for the key where the mode does', async () => {
  assert.equal((await documentOf('serverless')).security, [{ key: [] }]);
  assert.is((await documentOf('runtime')).security, undefined);
  assert.equal((await documentOf('serverless')).servers, [{ url: '/acme/chat' }]);
});

test('is a page as well, which needs nothing from elsewhere', async () => {
  const { app } = testApp();
  const { headers, body, statusCode } = await app.inject('/docs');
  assert.is(statusCode, 200);
  assert.match(String(headers['content-type']), /^text\/html/);
  assert.match(String(headers['content-security-policy']), "default-src 'none'");
  assert.not.match(body, /<script|<link|<img|src=|@import|url\(/);
  for (const endpoint of endpointsOf(await documentOf('runtime'))) assert.match(body, `<h2>${endpoint}</h2>`);
});

test.run();
