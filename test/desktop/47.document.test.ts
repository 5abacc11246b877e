// The OpenAPI document of the management API says what its routes do.
import { Validator } from '@seriousme/openapi-schema-validator';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const described = suite('the document of the management API');
let app: RunningDesktop;

described.before(async () => {
  app = await startDesktop();
});

described.after(async () => {
  await app.stop();
  removeFolder(app.folder);
});

described('it is valid, and has every call', async () => {
  const document = await app.done('GET', '/api/v1/openapi.json');
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  assert.ok(valid, JSON.stringify(errors));
  const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method} ${path}`),
  );
  for (const call of [
    'get /api/v1/state',
    'post /api/v1/models/load',
    'delete /api/v1/models',
    'get /api/v1/models/download/status/{id}',
    'put /api/v1/chats/{id}',
    'get /api/v1/events',
  ]) {
    assert.ok(calls.includes(call), call);
  }
  assert.ok(calls.length > 35, `${calls.length} calls`);
  for (const methods of Object.values(document.paths)) {
    for (const { summary } of Object.values(methods as Record<string, { summary: string }>)) assert.ok(summary);
  }
});

/** Checks a value against the subset of JSON Schema that the document uses. */
function matches(schema: Record<string, unknown>, value: unknown, where: string): void {
  if (Array.isArray(schema.type)) {
    const kinds = schema.type.filter((type) => (type === 'null') === (value === null));
    assert.ok(kinds.length > 0, `${where}: ${JSON.stringify(value)}`);
    if (value !== null) matches({ ...schema, type: kinds[0] }, value, where);
  } else if (Array.isArray(schema.anyOf)) {
    const fits = schema.anyOf.some((each) => {
      try {
        matches(each, value, where);
        return true;
      } catch {
        return false;
      }
    });
    assert.ok(fits, `${where}: ${JSON.stringify(value)}`);
  } else if (schema.type === 'object' && schema.properties !== undefined) {
    const properties = schema.properties as Record<string, Record<string, unknown>>;
    for (const name of (schema.required ?? []) as string[]) {
      assert.ok(Object.hasOwn(value as object, name), `${where}.${name} is absent`);
    }
    for (const [name, each] of Object.entries(value as object)) {
      assert.ok(properties[name], `${where}.${name} is not described`);
      matches(properties[name] as Record<string, unknown>, each, `${where}.${name}`);
    }
  } else if (schema.type === 'array') {
    for (const [index, each] of (value as unknown[]).entries()) {
      matches(schema.items as Record<string, unknown>, each, `${where}[${index}]`);
    }
  } else if (Array.isArray(schema.enum)) {
    assert.ok(schema.enum.includes(value), `${where}: ${value}`);
  } else if (schema.const !== undefined) {
    assert.is(value, schema.const, where);
  } else if (schema.type !== undefined) {
    const kind = value === null ? 'null' : typeof value;
    assert.is(kind, schema.type === 'integer' ? 'number' : schema.type, where);
  }
}

described('replies are as it describes them, down to the last field', async () => {
  const { paths } = await app.done('GET', '/api/v1/openapi.json');
  await app.done('POST', '/api/v1/server/start', { model: 'chasqui-demo', port: 0 });
  const messages = [{ id: 'a', parent: null, role: 'user', content: 'Hi' }];
  const { id } = await app.done('POST', '/api/v1/chats', { title: 'One', messages });
  await app.done('POST', '/app/v1/chat/completions', {
    model: 'x',
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: 2,
  });
  for (const [method, path, template = path, body = undefined] of [
    ['get', '/api/v1/state'],
    ['get', '/api/v1/models'],
    ['get', '/api/v1/options'],
    ['get', '/api/v1/settings'],
    ['get', '/api/v1/requests'],
    ['get', '/api/v1/metrics'],
    ['get', '/api/v1/logs'],
    ['get', '/api/v1/chats'],
    ['get', `/api/v1/chats/${id}`, '/api/v1/chats/{id}'],
    ['get', '/api/v1/models/download'],
    ['get', '/api/v1/models/fit?model=chasqui-demo', '/api/v1/models/fit'],
    ['post', '/api/v1/models/load', '/api/v1/models/load', { model: 'chasqui-demo' }],
    ['post', '/api/v1/server/stop'],
  ] as const) {
    const reply = await app.done(method.toUpperCase(), path, body);
    const schema = paths[template][method].responses[200].content['application/json'].schema;
    matches(schema, reply, path);
  }
});

described.run();
