// Sessions of the library: history, functions, and conversations longer than the context.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChatSession, type Engine, loadModel, type SessionTool } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { type Script, writeScriptedModel } from '../support/scripted-model.js';

const test = suite<{ demo: Engine; folder: string }>('model: sessions');

test.before(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-session-'));
  context.demo = await loadModel(demoModelPath, { contextSize: 256, parallel: 2, threads: 1 });
});
test.after(async ({ demo, folder }) => {
  await demo.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

const NUMBERS = '3, 4, 5, 6, 7, 8, 9';
const counting = [
  { role: 'user', content: 'Count from 3 to 9' },
  { role: 'assistant', content: NUMBERS },
] as const;

async function scripted(folder: string, script: Script): Promise<Engine> {
  return loadModel(writeScriptedModel(path.join(folder, 'm.gguf'), script), { contextSize: 1024, threads: 1 });
}

const script = { calls: [{ tool: 'look', arguments: { at: 'sea' } }], say: 'Blue.' };
function look(run: SessionTool['run']): SessionTool {
  const parameters = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] };
  return { name: 'look', parameters, run };
}

test('the history grows, and can be read and replaced', async ({ demo }) => {
  const session = new ChatSession(demo, { temperature: 0, maxTokens: 60 });
  let streamed = '';
  const { text } = await session.send('Count from 3 to 9', { onToken: (token) => (streamed += token.text) });
  assert.equal([text, streamed], [NUMBERS, NUMBERS]);
  assert.equal(session.history, counting);
  const other = new ChatSession(demo, { temperature: 0, history: session.history, maxTokens: 1 });
  const { finish } = await other.send('Hello');
  assert.ok(finish.promptTokens > 40, 'the earlier turn is part of the prompt');
  other.history = [];
  assert.ok((await other.send('Hello')).finish.promptTokens < finish.promptTokens);
  assert.is(other.history.length, 2);
});

test('a message that fails or is aborted leaves the history unchanged', async ({ demo }) => {
  const session = new ChatSession(demo, { history: counting, ignoreEos: true });
  const controller = new AbortController();
  const sending = session.send('Hello', { signal: controller.signal, onToken: () => controller.abort('enough') });
  const second = await session.send('Hello').catch((error) => error);
  assert.is(second.code, 'queue_full');
  assert.throws(() => {
    session.history = [];
  }, /wait for its end/);
  assert.is(await sending.catch((error) => error), 'enough');
  assert.equal(session.history, counting);
  assert.is((await session.send('x '.repeat(500)).catch((error) => error)).code, 'context_length_exceeded');
  assert.equal(session.history, counting);
  assert.is(session.omitted, 0);
});

test('turns that exceed the context are left out of requests', async ({ demo }) => {
  const session = new ChatSession(demo, { system: 'Be brief.', temperature: 0, maxTokens: 30 });
  for (let turn = 0; turn < 12; turn++) assert.is((await session.send('Count from 3 to 9')).text, NUMBERS);
  assert.is(session.history.length, 24);
  assert.ok(session.omitted > 0 && session.omitted % 2 === 0 && session.omitted < 24, `${session.omitted}`);
});

test('functions run, and the model reads their results', async ({ folder }) => {
  await using model = await scripted(folder, script);
  const inputs: unknown[] = [];
  const session = new ChatSession(model, {
    temperature: 0,
    maxTokens: 100,
    toolChoice: 'required',
    tools: [look((input) => ({ seen: inputs.push(input) }))],
  });
  const { text } = await session.send('Look');
  assert.is(text, 'Blue.');
  assert.equal(inputs, [{ at: 'sea' }]);
  const [user, call, result, answer] = session.history;
  assert.equal([user?.role, call?.role, result?.role, answer?.content], ['user', 'assistant', 'tool', 'Blue.']);
  assert.is(result?.content, '{"seen":1}');
  assert.is(result?.toolCallId, call?.toolCalls?.[0]?.id);
});

test('the model reads the message of a function that throws', async ({ folder }) => {
  await using model = await scripted(folder, script);
  const tools = [
    look(() => {
      throw new RangeError('It is dark.');
    }),
  ];
  const session = new ChatSession(model, { temperature: 0, maxTokens: 100, tools });
  await session.send('Look');
  assert.is(session.history[2]?.content, 'Error: It is dark.');
});

test('a model that calls without end must answer after the last round', async () => {
  const choices: unknown[] = [];
  const generate = (request: { toolChoice?: unknown }) => {
    choices.push(request.toolChoice);
    const toolCalls = [{ name: 'look', arguments: '{"at":"sea"}' }];
    const last = request.toolChoice === 'none';
    return {
      result: async () => ({ text: '', reasoning: '', toolCalls, finish: { reason: last ? 'stop' : 'tool_calls' } }),
    };
  };
  let calls = 0;
  const tools = [look(() => ++calls)];
  const session = new ChatSession({ generate, model: { contextLength: 100 } } as unknown as Engine, {
    tools,
    maxToolRounds: 2,
    toolChoice: 'required',
  });
  await session.send('Look');
  assert.equal(choices, ['required', 'auto', 'none']);
  assert.is(calls, 2);
});

test('invalid options are named', ({ demo }) => {
  const paramOf = (options: object) => {
    try {
      new ChatSession(demo, options);
    } catch (error) {
      return (error as { param: string }).param;
    }
  };
  assert.is(paramOf({ maxToolRounds: -1 }), 'maxToolRounds');
  assert.is(paramOf({ tools: [{ name: 'look' }] }), 'tools[0].run');
});

test.run();
