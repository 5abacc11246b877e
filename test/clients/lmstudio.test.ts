// What LM Studio's documentation has clients send over HTTP, against a real server with the demo model.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { HostedMode, MODEL } from '../support/modes.js';
import { readJson } from '../support/read-json.js';
import { readSse } from '../support/read-sse.js';

const test = suite<{ hosted: HostedMode }>('clients: lmstudio over HTTP');

test.before(async (context) => {
  context.hosted = await HostedMode.start('desktop', 1024);
});
test.after(({ hosted }) => hosted.stop());

const body = { model: MODEL, messages: [{ role: 'user', content: 'Count from 3 to 9' }], temperature: 0 };

function chat({ baseUrl }: HostedMode, changes: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  const payload = JSON.stringify({ ...body, ...changes });
  return fetch(`${baseUrl}/api/v0/chat/completions`, { method: 'POST', headers, body: payload });
}

test('a completion has measured times', async ({ hosted }) => {
  const { choices, stats, model_info } = await readJson(await chat(hosted, {}));
  assert.is(choices[0].message.content, '3, 4, 5, 6, 7, 8, 9');
  assert.ok(stats.tokens_per_second > 0 && stats.time_to_first_token > 0 && stats.generation_time > 0);
  assert.is(stats.stop_reason, 'eosFound');
  assert.is(model_info.context_length, 1024);
});

test('so has a stream, which a token limit ends', async ({ hosted }) => {
  const { events } = readSse(await (await chat(hosted, { stream: true, max_tokens: 4 })).text());
  const [last] = events.filter((event) => 'stats' in event);
  assert.is((last as unknown as { stats: { stop_reason: string } }).stats.stop_reason, 'maxPredictedTokensReached');
});

test('the lists of models say what the model is', async ({ hosted }) => {
  const { data } = await readJson(await hosted.get('/api/v0/models'));
  assert.equal([data[0].id, data[0].state, data[0].loaded_context_length], [MODEL, 'loaded', 1024]);
  const { models } = await readJson(await hosted.get('/api/v1/models'));
  assert.equal([models[0].key, models[0].architecture], [MODEL, data[0].arch]);
  assert.match(data[0].quantization, /^[A-Z0-9_]+$/);
});

test.run();
