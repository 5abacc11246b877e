// `computer` and `computer_use_preview` in responses.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';
import { pictureUri } from '../support/image-files.js';
import { inPieces, postTo } from '../support/post-to.js';

const test = suite('http: computer tools of responses');

function server(json = '') {
  const { app, engine } = testApp({
    model: { takesTools: true, vision: true, imageMarker: '<image>', inputModalities: ['text', 'image'] },
    batches: () => inPieces(`<call>computer ${json}</call>`),
  });
  const post = postTo(app, '/v1/responses');
  return { engine, respond: (body: object) => post({ model: 'fake', input: 'Hi', ...body }) };
}

test('computer tools are functions as well, and their calls are `computer_call` items', async () => {
  const click = { type: 'click', button: 'left', x: 3, y: 4 };
  const preview = { type: 'computer_use_preview', display_width: 640, display_height: 480, environment: 'browser' };
  const actions = [click, { type: 'type', text: 'Hi' }];
  for (const [tool, args, asked] of [
    [preview, click, { action: click }],
    [{ type: 'computer' }, { actions }, { actions }],
  ] as const) {
    const { engine, respond } = server(JSON.stringify(args));
    const reply = await respond({ tools: [tool], tool_choice: { type: tool.type } });
    assert.equal([reply.statusCode, reply.headers['x-chasqui-ignored']], [200, undefined], reply.body);
    const { tools: [offered] = [], toolChoice } = engine.renderOptions[0] ?? {};
    assert.equal([offered?.name, toolChoice], ['computer', { name: 'computer' }]);
    if (tool === preview) assert.match(offered?.description ?? '', /640 x 480 pixels/);
    const [item] = reply.json().output;
    const { id, call_id, ...rest } = item;
    assert.equal(rest, { type: 'computer_call', status: 'completed', pending_safety_checks: [], ...asked });
    assert.match(id, /^cu_/);
    const image_url = await pictureUri('png');
    const output = { type: 'computer_call_output', call_id, output: { type: 'computer_screenshot', image_url } };
    const second = await respond({ tools: [tool], input: [{ role: 'user', content: 'Hi' }, item, output] });
    assert.is(second.statusCode, 200, second.body);
    const [past] = engine.conversations.at(-1)?.find(({ role }) => role === 'assistant')?.toolCalls ?? [];
    assert.equal([past?.name, JSON.parse(past?.arguments ?? '')], ['computer', args]);
  }
  for (const json of ['{"type":"click","x":', '{"x":1}', '{"type":7}']) {
    const { respond } = server(json);
    assert.equal((await respond({ tools: [preview] })).json().output[0].action, { type: 'wait' });
    assert.equal((await respond({ tools: [{ type: 'computer' }] })).json().output[0].actions, []);
  }
});

test.run();
