// `allowed_tools` in POST /v1/responses: client-habits.test.ts tests it in chats.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { postTo } from '../support/post-to.js';

const test = suite('http: allowed tools of responses');

const clock = { type: 'function', name: 'clock' };

test('an allowed tool must be among the tools', async () => {
  const { app, engine } = testApp({ model: { takesTools: true } });
  const respond = (body: object) => postTo(app, '/v1/responses')({ model: 'fake', input: 'Hi', ...body });
  const inner = { type: 'function', name: 'inner' };
  const tools = [
    clock,
    { type: 'shell' },
    { type: 'web_search' },
    { type: 'namespace', name: 'space', tools: [inner] },
  ];
  const allow = (more: object, ...allowed: object[]) =>
    respond({ tools, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: allowed }, ...more });
  for (const known of [...tools, inner, { type: 'namespace', name: 'space' }]) {
    assert.is((await allow({}, { type: known.type, name: 'name' in known ? known.name : undefined })).statusCode, 200);
  }
  const { length } = engine.renderOptions;
  const refusals: [body: object, unknown: object, names: string][] = [
    [{}, { type: 'function', name: 'fly' }, 'fly'],
    [{}, { type: 'function' }, 'function'],
    [{}, { type: 'apply_patch' }, 'apply_patch'],
    [{ tools: undefined }, clock, 'clock'],
  ];
  for (const [body, unknown, name] of refusals) {
    const reply = await allow(body, ...('tools' in body ? [] : [clock]), unknown);
    const param = `tool_choice.tools[${'tools' in body ? 0 : 1}]`;
    const says = new RegExp(`names \`${name}\`, but \`tools\` has no such tool`);
    expectError(reply, { status: 400, code: 'invalid_value', param, says });
  }
  assert.is(engine.renderOptions.length, length);
});

test.run();
