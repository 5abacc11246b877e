// Ollama's endpoints with a scripted engine: jobs that reach it, and replies.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { desktop } from '../../ts/profiles/desktop.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { closeApps, listeningApp, type TestApp, testApp } from '../support/build-app.js';
import { finishOf } from '../support/fake-engine.js';
import { pictureUri } from '../support/image-files.js';
import { sendBytes } from '../support/raw-client.js';

const test = suite('http: ollama');
test.after.each(closeApps);

const messages = [{ role: 'user', content: 'Hi' }];

function chat({ send }: TestApp, body: Record<string, unknown> = {}) {
  return send('/api/chat', { model: 'fake', messages, stream: false, ...body });
}

const linesOf = (body: string) =>
  body
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

test('a chat is one reply, with counts, and times in nanoseconds', async () => {
  const timings = { queuedMs: 1, promptMs: 2.5, predictedMs: 10 };
  const app = testApp({ batches: () => [[{ text: 'Hello' }, { text: '!', finish: finishOf(7, 2, { timings }) }]] });
  const reply = await chat(app);
  assert.is(reply.statusCode, 200);
  const { created_at, total_duration, load_duration, ...rest } = reply.json();
  assert.ok(Date.parse(created_at) > Date.now() - 60_000);
  assert.ok(Number.isInteger(total_duration) && Number.isInteger(load_duration) && load_duration <= total_duration);
  assert.equal(rest, {
    model: 'fake',
    message: { role: 'assistant', content: 'Hello!' },
    done: true,
    done_reason: 'stop',
    prompt_eval_count: 7,
    prompt_eval_duration: 2_500_000,
    eval_count: 2,
    eval_duration: 10_000_000,
  });
});

test('a request that does not say gets a stream of lines', async () => {
  const app = testApp();
  const reply = await app.send('/api/chat', { model: 'fake', messages });
  assert.is(reply.headers['content-type'], 'application/x-ndjson');
  const lines = linesOf(reply.body);
  assert.equal(
    lines.slice(0, -1).map(({ message, done }) => [message, done]),
    ['Hel', 'lo', '!'].map((content) => [{ role: 'assistant', content }, false]),
  );
  assert.equal([lines.at(-1).done, lines.at(-1).done_reason, lines.at(-1).message.content], [true, 'stop', '']);
});

test('options reach the sampler, and those that mean "unset" set nothing', async () => {
  const app = testApp();
  const options = {
    temperature: 0.25,
    top_p: 0.5,
    min_p: 0.1,
    repeat_penalty: 1.5,
    stop: ['x'],
    num_predict: 9,
    seed: 3,
  };
  const reply = await chat(app, { options });
  assert.is(reply.headers['x-chasqui-ignored'], undefined);
  const job = app.engine.jobs[0];
  assert.equal([job?.maxTokens, job?.stop], [9, ['x']]);
  const { temperature, topP, minP, repeatPenalty, seed } = job?.sampling ?? {};
  assert.equal([temperature, topP, minP, repeatPenalty, seed], [0.25, 0.5, 0.1, 1.5, 3]);
  await chat(app, { options: { num_predict: -1, seed: -1, top_k: -1 } });
  const unset = app.engine.jobs[1];
  assert.equal([unset?.maxTokens, unset?.sampling.seed, unset?.sampling.topK], [null, null, 0]);
});

test('options that are the server’s to decide are named; with strict they are refused', async () => {
  const reply = await chat(testApp(), { options: { num_ctx: 8192, num_gpu: 1 }, other: 1 });
  assert.is(reply.statusCode, 200);
  assert.is(reply.headers['x-chasqui-ignored'], 'other, options.num_ctx, options.num_gpu');
  const strict = await chat(testApp({}, { strict: true }), { options: { num_ctx: 8192 } });
  assert.is(strict.statusCode, 400);
  assert.match(strict.json().error, /`options\.num_ctx` is not a parameter/);
});

test('all of Ollama’s options are obeyed in desktop mode as well', async () => {
  const app = testApp({}, {}, desktop);
  await chat(app, { options: { min_p: 0.1, repeat_penalty: 1.5 } });
  const { minP, repeatPenalty } = app.engine.jobs[0]?.sampling ?? {};
  assert.equal([minP, repeatPenalty], [0.1, 1.5]);
});

test('errors are texts, and name fields as the request does', async () => {
  const wrong: [Record<string, unknown>, number, RegExp][] = [
    [{ model: 'other' }, 404, /`other` is not served/],
    [{ messages: [{ role: 'wizard', content: '' }] }, 400, /`messages\[0\]\.role`/],
    [{ options: { temperature: '1' } }, 400, /`options\.temperature` must be a number/],
    [{ format: 'yaml' }, 400, /`format`/],
    [
      { format: { type: 'object', properties: 'none' }, tools: [{ type: 'function', function: {} }] },
      400,
      /tools\[0\]/,
    ],
    [{ messages: [{ role: 'user', content: 'Look', images: ['AAAA'] }] }, 400, /`messages\[0\]\.images\[0\]`/],
    [{ messages: [{ role: 'user', content: 'x'.repeat(5000) }] }, 400, /`messages`.*context holds/],
  ];
  for (const [body, status, message] of wrong) {
    const reply = await chat(testApp(), body);
    assert.is(reply.statusCode, status, reply.body);
    assert.equal(Object.keys(reply.json()), ['error']);
    assert.match(reply.json().error, message);
  }
  const page = { origin: 'http://a.example' };
  const reply = await testApp().app.inject({ method: 'POST', url: '/api/chat', headers: page, payload: '{}' });
  assert.equal([reply.statusCode, typeof reply.json().error], [415, 'string']);
});

test('each line of a stream is an HTTP chunk, also when several tokens arrive at once', async () => {
  const { url } = await listeningApp({
    batches: () => [[{ text: 'a' }], [{ text: 'b' }, { text: 'c' }, { text: 'd' }]],
  });
  const body = JSON.stringify({ model: 'fake', messages });
  const head = `POST /api/chat HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nconnection: close\r\n`;
  const text = await sendBytes(url, `${head}content-length: ${body.length}\r\n\r\n${body}`);
  const chunks = text.slice(text.indexOf('\r\n\r\n') + 4).split('\r\n');
  const lines = chunks.filter((chunk) => chunk.startsWith('{'));
  assert.equal(
    lines.map((line) => JSON.parse(line).message.content),
    ['a', 'b', 'c', 'd', ''],
  );
});

test('a failure in a stream is its last line', async () => {
  const { url } = await listeningApp({ failAt: 1, failWith: new Error('broken') });
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'fake', messages });
  const lines = linesOf(await (await fetch(`${url}/api/chat`, { method: 'POST', headers, body })).text());
  assert.equal(lines[0].message.content, 'Hel');
  assert.match(lines.at(-1).error, /server/);
});

test('a silent stream is kept alive by what is no line', async () => {
  const { url, engine } = await listeningApp({ manual: true }, { keepAliveMs: 10 });
  const headers = { 'content-type': 'application/json' };
  const reply = fetch(`${url}/api/chat`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'fake', messages }),
  });
  const reader = ((await reply).body as ReadableStream<Uint8Array>).getReader();
  assert.match(Buffer.from((await reader.read()).value ?? []).toString(), /^ +$/);
  engine.step();
  engine.step();
  let text = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += Buffer.from(part.value);
  assert.is(linesOf(text.trimStart()).at(-1).done, true);
});

test('past calls and their results reach the template, told apart by name or in order', async () => {
  const app = testApp();
  const call = (name: string) => ({ function: { name, arguments: { city: 'Cuzco' } } });
  const reply = await chat(app, {
    messages: [
      { role: 'user', content: 'Weather and time?' },
      { role: 'assistant', content: '', thinking: 'Two calls.', tool_calls: [call('weather'), call('clock')] },
      { role: 'tool', tool_name: 'clock', content: 'noon' },
      { role: 'tool', content: 'rain' },
    ],
  });
  assert.is(reply.statusCode, 200, reply.body);
  const [, assistant, clock, weather] = app.engine.conversations[0] ?? [];
  assert.is(assistant?.reasoning, 'Two calls.');
  const ids = assistant?.toolCalls?.map(({ id }) => id);
  assert.equal([weather?.toolCallId, clock?.toolCallId], ids);
  assert.is(assistant?.toolCalls?.[0]?.arguments, '{"city":"Cuzco"}');
});

const tool = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };
const CALL = '<call>{"name":"weather","arguments":{"city":"Cuzco"}}</call>';

test('a call is told whole, with its arguments as an object', async () => {
  const deltas = [
    { toolIndex: 0, toolId: 'a1', toolName: 'weather', toolArguments: '{"city":' },
    { toolIndex: 0, toolArguments: '"Cuzco"}' },
  ];
  const parser = () => ({
    push: (_: string, isLast: boolean) => (isLast ? deltas : []),
    reasoningLength: () => 0,
    repeats: () => false,
  });
  const app = testApp({ batches: () => [[{ text: CALL }]], parser });
  const { message, done_reason } = (await chat(app, { tools: [tool] })).json();
  const calls = [{ id: 'a1', function: { index: 0, name: 'weather', arguments: { city: 'Cuzco' } } }];
  assert.equal(message, { role: 'assistant', content: '', tool_calls: calls });
  assert.is(done_reason, 'stop');
  const lines = linesOf((await chat(app, { tools: [tool], stream: true })).body);
  assert.equal(lines[0].message.tool_calls, calls);
  assert.equal(
    lines.map(({ done }) => done),
    [false, true],
  );
  assert.equal(app.engine.renderOptions[0]?.tools?.[0]?.name, 'weather');
});

test('a call that was cut off is text', async () => {
  const parser = () => ({
    push: (_: string, isLast: boolean) =>
      isLast ? [{ toolIndex: 0, toolId: 'a', toolName: 'weather', toolArguments: '{"ci' }] : [],
    reasoningLength: () => 0,
    repeats: () => false,
  });
  const app = testApp({ batches: () => [[{ text: CALL, finish: finishOf(1, 1, { reason: 'length' }) }]], parser });
  const { message, done_reason } = (await chat(app, { tools: [tool] })).json();
  assert.equal([message, done_reason], [{ role: 'assistant', content: 'weather({"ci' }, 'length']);
});

test('reasoning is told apart, and asked for by think', async () => {
  const app = testApp({ reasons: true, batches: () => [[{ text: '<think>Hm.</think>Yes.' }]] });
  const { message } = (await chat(app, { think: true })).json();
  assert.equal(message, { role: 'assistant', content: 'Yes.', thinking: 'Hm.' });
  await chat(app, { think: false });
  await chat(app, { think: 'high' });
  assert.equal(
    app.engine.renderOptions.map(({ templateKwargs }) => templateKwargs),
    [{ enable_thinking: true }, { enable_thinking: false }, { enable_thinking: true, reasoning_effort: 'high' }],
  );
});

test('a format is enforced, and what of it cannot be is named', async () => {
  const app = testApp();
  await chat(app, { format: 'json' });
  const schema = { type: 'object', properties: { name: { type: 'string', format: 'color' } } };
  const reply = await chat(app, { format: schema });
  assert.equal(
    app.engine.renderOptions.map(({ jsonSchema }) => jsonSchema),
    [{ type: 'object' }, schema],
  );
  assert.is(reply.headers['x-chasqui-ignored'], 'format.properties.name.format');
});

test('images come in base64, of whatever type they are', async () => {
  const app = testApp({ model: { vision: true, inputModalities: ['text', 'image'] } });
  const uris = await Promise.all([pictureUri('jpeg'), pictureUri('png')]);
  const images = uris.map((uri) => uri.split(',')[1]);
  const reply = await chat(app, { messages: [{ role: 'user', content: 'Look', images }] });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(app.engine.jobs[0]?.images.length, 2);
  assert.is(app.engine.jobs[0]?.prompt, '<user>Look<image><image>');
});

test('large images do not count as text', async () => {
  const app = testApp({ model: { vision: true, inputModalities: ['text', 'image'] } });
  const [, base64 = ''] = (await pictureUri('png')).split(',');
  const padded = Buffer.concat([Buffer.from(base64, 'base64'), Buffer.alloc(6 * 2 ** 20)]).toString('base64');
  const reply = await chat(app, { messages: [{ role: 'user', content: 'Look', images: [padded] }] });
  assert.is(reply.statusCode, 200, reply.body.slice(0, 200));
  const text = await chat(app, { messages: [{ role: 'user', content: 'Look', images: ['word '.repeat(2 ** 20)] }] });
  assert.is(text.statusCode, 413);
});

test('log-probabilities come with the text that they are of', async () => {
  const logprobs = { id: 1, bytes: Buffer.from('Yes'), logprob: -0.5, top: [] };
  const app = testApp({ batches: () => [[{ text: 'Yes', logprobs, finish: finishOf(1, 1, { reason: 'length' }) }]] });
  const reply = (await chat(app, { logprobs: true, top_logprobs: 1 })).json();
  assert.equal(reply.logprobs, [{ token: 'Yes', logprob: -0.5, bytes: [89, 101, 115], top_logprobs: [] }]);
  assert.is(app.engine.jobs[0]?.topLogprobs, 1);
});

test('without messages the model is loaded, and keep_alive is obeyed', async () => {
  const app = testApp();
  const { message, done_reason, done } = (await chat(app, { messages: [] })).json();
  assert.equal([message.content, done_reason, done], ['', 'load', true]);
  const { response, done_reason: reason } = (
    await app.send('/api/generate', { model: 'fake', stream: false, keep_alive: 0 })
  ).json();
  assert.equal([response, reason], ['', 'unload']);
  assert.is(linesOf((await app.send('/api/generate', { model: 'fake' })).body)[0].done_reason, 'load');
  const refused = (await app.send('/api/generate', { model: 'fake', keep_alive: 1e30 })).json();
  assert.match(refused.error, /`keep_alive` must be at most 1000000 seconds.*send -1/);
  for (const nothing of [{ raw: true }, { system: 'Be brief.' }, { prompt: '', keep_alive: '0s' }]) {
    const { done_reason } = (await app.send('/api/generate', { model: 'fake', stream: false, ...nothing })).json();
    assert.is(done_reason, 'keep_alive' in nothing ? 'unload' : 'load');
  }
  assert.is(app.engine.jobs.length, 0);
});

function generate({ send }: TestApp, body: Record<string, unknown>) {
  return send('/api/generate', { model: 'fake', prompt: 'Hi', stream: false, ...body });
}

test('a prompt is the message of a user; raw, or before a suffix, it is continued as it is', async () => {
  const app = testApp();
  const { response, done } = (await generate(app, { system: 'Be brief.' })).json();
  assert.equal([response, done], ['Hello!', true]);
  await generate(app, { raw: true, options: { num_predict: 3 } });
  await generate(app, { suffix: '}' });
  const [templated, raw, filled] = app.engine.jobs;
  assert.is(templated?.prompt, '<system>Be brief.<user>Hi');
  assert.equal([raw?.prompt, raw?.maxTokens], ['Hi', 3]);
  assert.equal(filled?.prompt, [...Buffer.from('<pre>Hi<suf>}<mid>')]);
  const lines = linesOf((await generate(app, { raw: true, stream: true })).body);
  assert.is(lines.map((line) => line.response).join(''), 'Hello!');
});

test('options that would change the completion are refused', async () => {
  const wrong: [Record<string, unknown>, RegExp][] = [
    [{ template: '{{ .Prompt }}' }, /`template`/],
    [{ context: [1, 2] }, /`context`.*\/api\/chat/],
    [{ raw: true, format: 'json' }, /`format`/],
    [{ raw: true, prompt: 'x'.repeat(5000) }, /context holds/],
  ];
  for (const [body, message] of wrong) {
    const reply = await generate(testApp(), body);
    assert.is(reply.statusCode, 400, reply.body);
    assert.match(reply.json().error, message);
  }
  assert.is((await generate(testApp(), { template: '', context: [] })).statusCode, 200);
});

test('models go by their names with and without the tag latest', async () => {
  const app = testApp({
    model: { description: 'llama 0.5B Q4_K - Medium', quantization: 'Q4_K - Medium', parameterCount: 494_032_768 },
  });
  const [listed] = (await app.app.inject('/api/tags')).json().models;
  assert.equal([listed.name, listed.model], ['fake:latest', 'fake:latest']);
  assert.match(listed.digest, /^[0-9a-f]{64}$/);
  const { family, parameter_size, quantization_level } = listed.details;
  assert.equal([family, parameter_size, quantization_level], ['llama', '494M', 'Q4_K_M']);
  for (const model of ['fake', 'fake:latest']) assert.is((await chat(app, { model })).json().model, model);
  assert.is((await chat(app, { model: 'fake:7b' })).statusCode, 404);
});

test('loaded models are listed with what they take and until when', async () => {
  const { app } = testApp({ model: { sizeBytes: 1000, placement: { devices: ['GPU0'], gpuLayers: 1, layers: 2 } } });
  const [running] = (await app.inject('/api/ps')).json().models;
  assert.equal([running.size, running.size_vram, running.context_length], [1000, 500, 4096]);
  assert.ok(Date.parse(running.expires_at) > Date.now());
});

test('show says what a model can do', async () => {
  const { send } = testApp({ model: { description: 'qwen3 1B F16', vision: true, reasons: true } });
  const shown = (await send('/api/show', { model: 'fake:latest' })).json();
  assert.equal(shown.capabilities, ['completion', 'tools', 'insert', 'vision', 'thinking']);
  assert.is(shown.model_info['qwen3.context_length'], 4096);
  assert.is((await send('/api/show', { name: 'fake' })).statusCode, 200);
  const missing = await send('/api/show', { model: 'other' });
  assert.equal([missing.statusCode, typeof missing.json().error], [404, 'string']);
  assert.match((await send('/api/show', {})).json().error, /`model`/);
});

test('the version is one that clients accept', async () => {
  const { version } = (await testApp().app.inject('/api/version')).json();
  assert.match(version, /^\d+\.\d+\.\d+$/);
});

test("missing models are reported in Ollama's format, with the reason", async () => {
  const { app } = testApp();
  for (const [method, name] of [
    ...['pull', 'push', 'create', 'copy', 'blobs/sha256:1'].map((each) => ['POST', each] as const),
    ['DELETE', 'delete'] as const,
  ]) {
    const reply = await app.inject({ method, url: `/api/${name}` });
    assert.is(reply.statusCode, 404);
    assert.equal(reply.json(), {
      error: `There is no \`${method} /api/${name}\` here: clients cannot change the models of this server in that way.`,
    });
  }
  assert.match((await app.inject('/api/nothing')).json().error, /no `GET \/api\/nothing` here/);
  assert.match((await app.inject('/api/chat')).json().error, /takes POST, not GET/);
  assert.is((await app.inject('/api/v0/nothing')).json().error.code, 'unknown_url');
});

test('so is what cannot be read of a path', async () => {
  const { app } = testApp();
  for (const url of ['/api/%ff', '/api/tags%', '/api/blobs/%zz']) {
    const reply = await app.inject(url);
    assert.is(reply.statusCode, 400, reply.body);
    assert.match(reply.json().error, /is not a valid url/);
  }
  for (const url of ['/v1/%ff', '/api/v0/%ff']) assert.is((await app.inject(url)).json().error.code, 'bad_request');
});

test('serverless mode has none of this', async () => {
  const { app } = testApp({}, { deployment: { org: 'acme', app: 'chat' }, access: 'public' }, serverless);
  for (const url of ['/api/tags', '/acme/chat/api/tags']) assert.is((await app.inject(url)).statusCode, 404);
});

test.run();
