import { Ajv } from 'ajv';
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';
import { DEPLOYMENT, MODES, PROFILES } from '../support/modes.js';

const test = suite('http: the schemas of bodies');

for (const mode of MODES) {
  // Servers do not check their own schemas, for that takes as long as to compile them.
  test(`are schemas by the standard (${mode})`, async () => {
    const bodies = new Map<string, object>();
    const collect = (app: FastifyInstance): void => {
      app.addHook('onRoute', ({ url, schema }) => {
        if (schema?.body) bodies.set(url, schema.body as object);
      });
    };
    const deployed = mode === 'serverless' ? { deployment: DEPLOYMENT, access: 'public' as const } : {};
    const { app } = testApp({}, { ...deployed, routes: collect }, PROFILES[mode]);
    await app.ready();
    assert.ok([...bodies.keys()].some((url) => url.endsWith('/v1/chat/completions')));
    const ajv = new Ajv();
    for (const [url, schema] of bodies) assert.ok(ajv.validateSchema(schema), `${url}: ${ajv.errorsText()}`);
  });
}

test.run();
