// Tools of Anthropic's messages that run in the client.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';
import type { FakeScript } from '../support/fake-engine.js';
import { inPieces, postTo } from '../support/post-to.js';

const test = suite('http: tools of messages');

function messages(script: FakeScript) {
  const { app, engine } = testApp({ model: { takesTools: true }, ...script });
  const post = postTo(app, '/v1/messages');
  const request = { model: 'fake', max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] };
  return { engine, ask: (body: object) => post({ ...request, ...body }) };
}

test('tools that the client runs are functions for the model, with their published names', async () => {
  const batches = () => inPieces('<call>bash {"command":"ls"}</call>');
  const { ask, engine } = messages({ batches });
  const tools = [
    { type: 'bash_20250124', name: 'bash' },
    { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 900 },
    { type: 'text_editor_20250124', name: 'str_replace_editor' },
    { type: 'memory_20250818', name: 'memory' },
    { type: 'computer_20250124', name: 'computer', display_width_px: 800, display_height_px: 600 },
  ];
  const reply = await ask({ tools, tool_choice: { type: 'tool', name: 'bash' } });
  assert.equal([reply.statusCode, reply.headers['x-chasqui-ignored']], [200, undefined], reply.body);
  const [{ id, ...use }] = reply.json().content;
  assert.equal(use, { type: 'tool_use', name: 'bash', input: { command: 'ls' }, caller: { type: 'direct' } });
  const offered = engine.renderOptions[0]?.tools ?? [];
  assert.equal(
    offered.map(({ name }) => name),
    tools.map(({ name }) => name),
  );
  const commands = offered.map(({ parameters }) => {
    const { properties } = parameters as { properties: Record<string, { enum?: string[] }> };
    return [properties.command?.enum?.toSorted().at(-2), 'insert_text' in properties, properties.action?.enum?.[0]];
  });
  assert.equal(commands, [
    [undefined, false, undefined],
    ['str_replace', true, undefined],
    ['undo_edit', false, undefined],
    ['str_replace', true, undefined],
    [undefined, false, 'key'],
  ]);
  assert.match(String(offered[1]?.description), /900 characters/);
  assert.match(String(offered[4]?.description), /800 x 600/);
  const result = { type: 'tool_result', tool_use_id: id, content: 'f' };
  const turns = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: reply.json().content },
    { role: 'user', content: [result] },
  ];
  assert.is((await ask({ tools, messages: turns })).statusCode, 200);
  assert.equal(engine.conversations.at(-1)?.at(-1), { role: 'tool', content: 'f', toolCallId: id });
});

test('types that only resemble those of the client are passed over', async () => {
  const { ask, engine } = messages({});
  const types = ['bash', 'bash_code_execution_20250825', 'computer_toolset_20260801', 'memory_2025', 'text_editor_'];
  const reply = await ask({ tools: types.map((type) => ({ type, name: 'a' })) });
  assert.is(String(reply.headers['x-chasqui-ignored']).split(', ').length, types.length);
  assert.is(engine.renderOptions[0]?.tools, undefined);
});

test.run();
