// Compaction of conversations, and compaction items in requests.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeApps, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import type { FakeScript } from '../support/fake-engine.js';
import { inPieces, postTo } from '../support/post-to.js';

const test = suite('http: compaction of responses');

test.after.each(closeApps);

function api(script: FakeScript = {}) {
  const { app, engine } = testApp(script);
  const [respond, compact] = ['', '/compact'].map((path) => {
    const post = postTo(app, `/v1/responses${path}`);
    return (body: object) => post({ model: 'fake', ...body });
  }) as [ReturnType<typeof postTo>, ReturnType<typeof postTo>];
  return { app, engine, respond, compact };
}

const said = (role: string, content: string) => ({ type: 'message', role, content });

test('a conversation becomes its user messages and a summary, which later responses see', async () => {
  const { compact, respond, engine } = api();
  engine.play({ batches: () => inPieces('It is Tuesday.') });
  const input = [said('user', 'One'), said('assistant', 'Two'), said('user', 'Three')];
  const reply = await compact({ input, instructions: 'Be brief.', prompt_cache_key: 'k' });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(reply.headers['x-chasqui-ignored'], undefined);
  const { id, object, output, usage } = reply.json();
  assert.match(id, /^resp_/);
  assert.equal([object, usage.output_tokens], ['response.compaction', 14]);
  assert.equal(
    output.map(({ type, content }: { type: string; content?: { text: string }[] }) => content?.[0]?.text ?? type),
    ['One', 'Three', 'compaction'],
  );
  assert.match(engine.jobs[0]?.prompt as string, /^<system>Be brief\.<user>One<assistant>Two<user>Three.*Summarize/s);
  const next = await respond({ input: [...output, said('user', 'Four')] });
  assert.is(next.statusCode, 200, next.body);
  assert.match(engine.jobs[1]?.prompt as string, /^<user>One.*Three.*Summary.*\n\nIt is Tuesday\..*Four$/s);
  const again = (await compact({ input: output })).json().output;
  assert.is(again.filter(({ type }: { type: string }) => type === 'compaction').length, 1);
});

test('a stored response is compacted with everything before it', async () => {
  const { compact, respond, engine } = api();
  const first = (await respond({ input: 'One' })).json();
  const { id } = (await respond({ input: 'Two', previous_response_id: first.id })).json();
  const { output } = (await compact({ previous_response_id: id })).json();
  assert.is(output.length, 3);
  assert.match(
    engine.jobs[2]?.prompt as string,
    /^<user>One<assistant>Hello!<user>Two<assistant>Hello!<user>Summarize/,
  );
  const missing = await compact({ previous_response_id: 'resp_1' });
  expectError(missing, { status: 400, param: 'previous_response_id', code: 'previous_response_not_found' });
});

test('the reasoning counts where a model writes nothing else', async () => {
  const { compact, respond, engine } = api({ reasons: true, batches: () => inPieces('<think>Hm.</think>') });
  const { output } = (await compact({ input: 'One' })).json();
  await respond({ input: output });
  assert.match(engine.jobs[1]?.prompt as string, /Hm\.$/);
});

test('a conversation that fills the context is truncated before it is summarized', async () => {
  const { compact, engine } = api({ model: { contextLength: 1000 } });
  const turns = ['A', 'B', 'C'].flatMap((name) => [said('user', name.repeat(150)), said('assistant', 'Yes.')]);
  const reply = await compact({ input: turns });
  assert.is(reply.statusCode, 200, reply.body);
  const { prompt = '' } = engine.jobs[0] ?? {};
  assert.ok(String(prompt).length <= 750, String(prompt));
  assert.match(String(prompt), /C{150}/);
  assert.is(reply.json().output.length, 4);
});

test('items of other servers are ignored and named, bad requests are refused', async () => {
  const { compact, respond } = api();
  const foreign = { type: 'compaction', encrypted_content: 'gAAAA' };
  const reply = await respond({ input: [foreign, said('user', 'Hi')] });
  assert.is(reply.headers['x-chasqui-ignored'], encodeURIComponent('input[0]'));
  const noContent = await respond({ input: [{ type: 'compaction' }, said('user', 'Hi')] });
  expectError(noContent, { status: 400, param: 'input[0].encrypted_content', code: 'missing_required_parameter' });
  const { app } = testApp();
  expectError(await postTo(app, '/v1/responses/compact')({ input: 'Hi' }), {
    status: 400,
    param: 'model',
    code: 'missing_required_parameter',
  });
  for (const body of [{}, { input: null }]) {
    expectError(await compact(body), { status: 400, param: 'input', code: 'missing_required_parameter' });
  }
  expectError(await compact({ input: [] }), { status: 400, param: 'input', code: 'invalid_value' });
});

test.run();
