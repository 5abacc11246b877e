// The settings of a request that a response repeats.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeApps, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { postTo, readNamedEvents } from '../support/post-to.js';

const test = suite('http: settings of responses');

test.after.each(closeApps);

test('settings come back as they were sent, tools and formats with their defaults, in every event', async () => {
  const post = postTo(testApp({ model: { takesTools: true } }).app, '/v1/responses');
  const respond = (body: object) => post({ model: 'fake', input: 'Hi', ...body });
  const settings = {
    presence_penalty: 0.5,
    frequency_penalty: -0.5,
    max_tool_calls: 3,
    safety_identifier: 'user-1',
    prompt_cache_key: 'chat-1',
  };
  const schema = { type: 'object', properties: {} };
  const body = {
    ...settings,
    service_tier: 'flex',
    tools: [
      { type: 'function', name: 'clock' },
      { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f', description: 'F', strict: true }] },
    ],
    text: { format: { type: 'json_schema', name: 'x', schema } },
  };
  const reply = await respond({ ...body, stream: true });
  assert.is(reply.headers['x-chasqui-ignored'], undefined);
  const shown = readNamedEvents(reply.body).flatMap(({ response }) => response ?? []);
  assert.is(shown.length, 3);
  for (const response of [...shown, (await respond(body)).json()]) {
    for (const [name, value] of Object.entries(settings)) assert.equal(response[name], value, name);
    assert.is(response.service_tier, 'default');
    assert.equal(response.tools, [
      { type: 'function', name: 'clock', description: null, parameters: null, strict: false },
      {
        type: 'namespace',
        name: 'n',
        tools: [{ type: 'function', name: 'f', description: 'F', parameters: null, strict: true }],
      },
    ]);
    assert.equal(response.text.format, { type: 'json_schema', name: 'x', schema, description: null, strict: false });
  }
  expectError(await respond({ max_tool_calls: 0 }), { status: 400, param: 'max_tool_calls', code: 'invalid_value' });
  const long = await respond({ prompt_cache_key: 'x'.repeat(513) });
  expectError(long, { status: 400, param: 'prompt_cache_key', code: 'invalid_value' });
});

test.run();
