/** Requests of library users: validation, forms of OpenAI's API, and the whole completion. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError, type GenerateRequest, loadModel, type Model, type SupervisedEngine } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { FORMATS, picture, pictureUri } from '../support/image-files.js';

let model: Model;
test.before(async () => {
  model = await loadModel(demoModelPath, { contextSize: 2048, parallel: 4, threads: 1, imageHosts: 'loopback' });
});
test.after(() => model.close());

const messages = [{ role: 'user' as const, content: 'Count from 3 to 9.' }];
const tool = {
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', maxLength: 12 } },
    required: ['city'],
    additionalProperties: false,
  },
};

/** Requests as JavaScript sends them. */
function generate(request?: unknown) {
  return model.generate(request as GenerateRequest);
}

async function errorOf(request?: unknown): Promise<[string, string | null | undefined, string]> {
  const error = await generate(request)
    .next()
    .then(
      () => assert.unreachable(`was generated: ${JSON.stringify(request)}`) as never,
      (thrown: unknown) => thrown,
    );
  if (!(error instanceof ChasquiError)) throw error;
  return [error.code, error.param, error.message];
}

const INVALID: [request: unknown, code: string, param: string, hint?: string][] = [
  [undefined, 'missing_required_parameter', 'messages'],
  [null, 'missing_required_parameter', 'messages'],
  ['Hello', 'missing_required_parameter', 'messages'],
  [{}, 'missing_required_parameter', 'messages'],
  [{ messages, prompt: 'x' }, 'invalid_value', 'prompt'],
  [{ messages, response_format: { type: 'json_object' } }, 'unknown_parameter', 'response_format', '`jsonSchema`'],
  [{ messages, max_tokens: 5 }, 'unknown_parameter', 'max_tokens', '`maxTokens`'],
  [{ messages, abortSignal: null }, 'unknown_parameter', 'abortSignal', '`signal`'],
  [{ messages, temprature: 1 }, 'unknown_parameter', 'temprature', '`temperature`'],
  [{ messages, signal: {} }, 'invalid_value', 'signal'],
  [{ messages, images: [] }, 'unsupported_parameter', 'images'],
  [{ prompt: 'x', tools: [tool] }, 'unsupported_parameter', 'tools'],
  [{ prompt: [1.5, Number.NaN] }, 'invalid_value', 'prompt'],
  [{ prompt: 5 }, 'invalid_value', 'prompt'],
  [{ messages, logitBias: { Hello: 1 } }, 'invalid_value', 'logitBias'],
  [{ messages, logitBias: { 5: Number.NaN } }, 'invalid_value', 'logitBias'],
  [{ messages, temperature: -1 }, 'invalid_value', 'temperature'],
  [{ messages, temperature: '1' }, 'invalid_value', 'temperature'],
  [{ messages, samplers: ['luck'] }, 'invalid_value', 'samplers'],
  [{ messages, maxTokens: 0 }, 'invalid_value', 'maxTokens'],
  [{ messages, maxTokens: -1 }, 'invalid_value', 'maxTokens'],
  [{ messages, stop: '' }, 'invalid_value', 'stop'],
  [{ messages, stop: ['a', 5] }, 'invalid_value', 'stop'],
  [{ messages, tools: {} }, 'invalid_value', 'tools'],
  [{ messages, tools: [{ type: 'function' }] }, 'invalid_value', 'tools[0].name'],
  [{ messages, tools: [tool], toolChoice: { name: 'other' } }, 'invalid_value', 'toolChoice'],
  [{ messages, toolChoice: 'required' }, 'invalid_value', 'toolChoice'],
  [{ messages, jsonSchema: 'object' }, 'invalid_value', 'jsonSchema'],
  [{ messages, jsonSchema: {}, grammar: 'root ::= "x"' }, 'unsupported_parameter', 'jsonSchema'],
  [{ messages: 'Hello' }, 'invalid_value', 'messages'],
  [{ messages: [{ role: 'nobody', content: 'x' }] }, 'invalid_value', 'messages[0].role'],
  [{ messages: [{ role: 'user', content: 5 }] }, 'invalid_value', 'messages[0].content'],
  [{ messages: [{ role: 'user' }] }, 'invalid_value', 'messages[0].content'],
  [{ messages: [{ role: 'user', content: [null] }] }, 'invalid_value', 'messages[0].content[0].type'],
  [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'invalid_value', 'messages[0].content[0].text'],
  [{ messages: [{ role: 'user', content: [{ type: 'image' }] }] }, 'invalid_value', 'messages[0].content[0].image'],
  [
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
    'invalid_value',
    'messages[0].content[0].image_url.url',
  ],
  [
    { messages: [{ role: 'assistant', content: null, tool_calls: [{ id: 'a' }] }] },
    'invalid_value',
    'messages[0].tool_calls[0]',
  ],
  [{ messages: [{ role: 'assistant', tool_calls: {} }] }, 'invalid_value', 'messages[0].tool_calls'],
  [{ messages: [{ role: 'assistant', toolCalls: 'f' }] }, 'invalid_value', 'messages[0].toolCalls'],
  [{ messages: [{ role: 'user', content: [{ type: 'valueOf' }] }] }, 'invalid_value', 'messages[0].content[0].type'],
  [{ messages: new Array(1) }, 'invalid_value', 'messages'],
  [{ messages, constructor: 1 }, 'unknown_parameter', 'constructor'],
  [{ messages, tools: [tool], toolChoice: { function: null } }, 'invalid_value', 'toolChoice'],
  [{ messages, tools: [tool], toolChoice: { function: 5 } }, 'invalid_value', 'toolChoice'],
  [{ prompt: [2 ** 40] }, 'invalid_value', 'prompt'],
  [{ prompt: 'x', images: [null] }, 'invalid_value', 'images'],
  [{ prompt: 'x', preservedTokens: [''] }, 'invalid_value', 'preservedTokens'],
  [{ prompt: 'x', formatStops: [''] }, 'invalid_value', 'formatStops'],
  [{ prompt: 'x', format: {} }, 'invalid_value', 'format'],
  [{ prompt: 'x', grammar: {} }, 'invalid_value', 'grammar'],
  [{ prompt: 'x', adapters: [{ adapter: -1, scale: 1 }] }, 'invalid_value', 'adapters'],
];

test('invalid requests are refused with the field and the right name', async () => {
  for (const [request, code, param, hint = ''] of INVALID) {
    const title = JSON.stringify(request);
    const [actual, field, message] = await errorOf(request);
    assert.equal([actual, field], [code, param], title);
    assert.ok(message.includes(hint), message);
  }
});

test('absent optional fields may be undefined or null', async () => {
  const request = { messages, maxTokens: 1, stop: undefined, seed: null, topLogprobs: null, signal: undefined };
  assert.is((await generate(request).result()).finish.reason, 'length');
});

test('a stop string is one string', async () => {
  const whole = await model.generate({ messages, temperature: 0 }).text();
  const stop = whole.slice(4, 8);
  const { text, finish } = await model.generate({ messages, temperature: 0, stop }).result();
  assert.is(text, whole.slice(0, whole.indexOf(stop)));
  assert.is(finish.stopString, stop);
});

test('a JSON schema is enforced in one call', async () => {
  const jsonSchema = { enum: ['yes', 'no'] };
  assert.ok(['"yes"', '"no"'].includes(await model.generate({ messages, jsonSchema, temperature: 1, seed: 1 }).text()));
});

test('a schema of many scopes with many alternatives in each is refused', async () => {
  const count = 20;
  const uri = (number: number) => `http://localhost/${number % count}`;
  const scoped = (at: number) => {
    const own = { type: 'object', properties: { z: { $ref: uri(at + 2) } } };
    const anyOf = [{ $ref: uri(at + 1) }, { $dynamicRef: `#k${(at + 3) % count}` }, own];
    // A dynamic reference must have a target in its own resource.
    const next = { $dynamicAnchor: `k${(at + 3) % count}` };
    return { $id: uri(at), $dynamicAnchor: `k${at}`, $defs: { next }, anyOf };
  };
  const $defs = Object.fromEntries(Array.from({ length: count }, (_, at) => [`d${at}`, scoped(at)]));
  const [code, , message] = await errorOf({ messages, jsonSchema: { $defs, $ref: uri(0) } });
  assert.is(code, 'invalid_grammar');
  assert.match(message, 'more than 200,000 alternatives');
});

test('a grammar is GBNF as text', async () => {
  assert.is(await model.generate({ messages, grammar: 'root ::= "maybe"' }).text(), 'maybe');
});

for (const tools of [[tool], [{ type: 'function' as const, function: tool }]]) {
  test(`tools are called in one call, declared ${'type' in (tools[0] ?? {}) ? 'as by OpenAI' : 'plainly'}`, async () => {
    const stream = model.generate({ messages, tools, toolChoice: 'required', maxTokens: 200, temperature: 0 });
    let json = '';
    for await (const { text, toolCalls, reasoning } of stream) {
      assert.is(text.trim() + reasoning, '');
      for (const call of toolCalls) json += call.arguments ?? '';
    }
    const { toolCalls, finish } = await stream.result();
    assert.is(finish.reason, 'tool_calls');
    assert.equal([toolCalls[0]?.name, toolCalls[0]?.arguments], ['get_weather', json]);
    assert.equal(Object.keys(JSON.parse(json)), ['city']);
  });
}

test("the conversations of OpenAI's API are rendered like ours", async () => {
  const call = { name: 'get_weather', arguments: '{"city":"Cusco"}' };
  const ours = await model.render([
    ...messages,
    { role: 'assistant', content: '', toolCalls: [{ id: 'call_1', ...call }] },
    { role: 'tool', content: 'rain', toolCallId: 'call_1' },
  ]);
  const theirs = await model.render([
    ...messages,
    { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] },
    { role: 'tool', content: 'rain', tool_call_id: 'call_1' },
  ]);
  assert.is(theirs.prompt, ours.prompt);
  assert.match(ours.prompt, /Cusco/);
});

test('render takes the image parts that generate takes', async () => {
  const bytes = await picture('webp');
  const parts = [
    { type: 'image' as const, image: bytes },
    { type: 'image' as const, image: new Uint8Array(bytes).buffer },
    { type: 'image' as const, image: { bytes } },
    { type: 'image_url' as const, image_url: { url: await pictureUri('webp') } },
  ];
  assert.ok(FORMATS.includes('webp'));
  for (const part of parts) {
    const rendered = await model.render([{ role: 'user', content: [part] }]);
    assert.is(rendered.images.length, 1);
    assert.ok((await model.countTokens(rendered)) > 10);
    assert.not.match(rendered.prompt, /undefined/);
  }
});

test('the tokens of a stream are read once, its result at any time', async () => {
  const stream = model.generate({ messages, temperature: 0 });
  let text = '';
  for await (const token of stream) text += token.text;
  assert.is(await stream.text(), text);
  assert.equal(await stream.result(), await stream.result());
  assert.throws(
    () => stream[Symbol.asyncIterator](),
    (error: unknown) =>
      error instanceof ChasquiError &&
      error.code === 'stream_consumed' &&
      /have been read.*result\(\)/.test(error.message),
  );
});

test('tokens are counted in a text or a prompt', async () => {
  const count = await model.countTokens('Count from 3 to 9.');
  assert.is(count, (await model.tokenize('Count from 3 to 9.', { addSpecial: true })).length);
  assert.is(await model.countTokens({ prompt: 'Count from 3 to 9.' }), count);
});

const NO_TEXTS: unknown[] = [undefined, null, 5, {}, ['a'], { prompt: 5 }, { prompt: 'a', images: 5 }];

test('anything but a text or a prompt is refused by countTokens', async () => {
  for (const given of NO_TEXTS) await refuses(() => model.countTokens(given as string), 'prompt');
});

async function refuses(call: () => Promise<unknown>, param: string): Promise<void> {
  await call().then(
    () => assert.unreachable() as never,
    (error) => assert.equal([error.code, error.param], ['invalid_value', param]),
  );
}

test('result rejects once the stream was left', async () => {
  const stream = model.generate({ messages, temperature: 0 });
  for await (const _ of stream) break;
  await stream.result().then(
    () => assert.unreachable() as never,
    (error) => assert.equal([error.code, /left before its end/.test(error.message)], ['stream_consumed', true]),
  );
});

test('the signal may be a field of the request', async () => {
  const reason = new Error('gone');
  const request = { messages, signal: AbortSignal.abort(reason) };
  await model
    .generate(request)
    .text()
    .then(
      () => assert.unreachable() as never,
      (error) => assert.is(error, reason),
    );
});

test('one signal for many generations causes no warning', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 32 }, () => model.generate({ messages, maxTokens: 2 }, { signal }).text()));
  await new Promise(setImmediate);
  process.off('warning', onWarning);
  assert.equal(warnings, []);
});

test('batches are taken in the asynchronous context of the caller', async () => {
  const storage = new AsyncLocalStorage<string>();
  const seen = new Set<string | undefined>();
  await storage.run('mine', () =>
    model.generate({ messages, maxTokens: 4 }).forEachBatch(() => {
      seen.add(storage.getStore());
    }),
  );
  assert.equal([...seen], ['mine']);
});

test('a model is closed at the end of `await using`', async () => {
  const disposed = await loadModel(demoModelPath, { contextSize: 256, threads: 1 });
  await disposed[Symbol.asyncDispose]();
  assert.is(disposed.state, 'closed');
});

test('a model in a process of its own takes the same requests', async () => {
  const engine: SupervisedEngine = await loadModel(demoModelPath, { process: true, contextSize: 1024, threads: 1 });
  try {
    const { toolCalls } = await engine
      .generate({ messages, tools: [tool], toolChoice: 'required', maxTokens: 200, temperature: 0 })
      .result();
    assert.is(toolCalls[0]?.name, 'get_weather');
  } finally {
    await engine[Symbol.asyncDispose]();
  }
});

test.run();
