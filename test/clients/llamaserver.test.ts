// What llama-server's own clients send, against a real server with the demo model.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { HostedMode, MODEL } from '../support/modes.js';
import { readJson } from '../support/read-json.js';
import { readSse } from '../support/read-sse.js';

const test = suite<{ hosted: HostedMode }>('clients: llama-server');

test.before(async (context) => {
  context.hosted = await HostedMode.start('runtime', 512);
});
test.after(({ hosted }) => hosted.stop());

function post({ baseUrl }: HostedMode, url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(baseUrl + url, { method: 'POST', headers, body: JSON.stringify(body) });
}

const common = { temperature: 0, n_predict: 8, cache_prompt: false };
const prompt = 'Once upon a time';

test('a stream has the same text and tokens as the whole', async ({ hosted }) => {
  const whole = await readJson(await post(hosted, '/completion', { ...common, prompt, return_tokens: true }));
  assert.equal([whole.tokens_predicted, whole.stop_type, whole.prompt], [8, 'limit', prompt]);
  assert.ok(whole.timings.predicted_per_token_ms > 0);
  const { events } = readSse(await (await post(hosted, '/completion', { ...common, prompt, stream: true })).text());
  const pieces = events as unknown as { content: string; tokens: number[]; tokens_evaluated: number }[];
  assert.is(pieces.map(({ content }) => content).join(''), whole.content);
  assert.equal(
    pieces.flatMap(({ tokens }) => tokens),
    whole.tokens,
  );
  assert.equal(new Set(pieces.map(({ tokens_evaluated }) => tokens_evaluated)), new Set([whole.tokens_evaluated]));
});

test('a prompt of tokens is the same as its text', async ({ hosted }) => {
  const { tokens } = await readJson(await post(hosted, '/tokenize', { content: prompt, add_special: true }));
  const replies = await readJson(await post(hosted, '/completion', { ...common, prompt: [tokens, prompt] }));
  assert.is(replies[0].content, replies[1].content);
  assert.is(replies[0].tokens_evaluated, tokens.length);
});

test('a prompt that was only read is in the cache', async ({ hosted }) => {
  const text = 'A prompt that nobody has sent before. '.repeat(4);
  const read = await readJson(await post(hosted, '/completion', { prompt: text, n_predict: 0 }));
  assert.equal([read.content, read.tokens_predicted], ['', 0]);
  const next = await readJson(await post(hosted, '/completion', { prompt: text, n_predict: 1 }));
  assert.ok(next.tokens_cached > next.tokens_evaluated / 2, `${next.tokens_cached} of ${next.tokens_evaluated}`);
});

test('banned texts are not written', async ({ hosted }) => {
  const body = { temperature: 0, n_predict: 24, prompt: 'Numbers: 3, 4, 5,' };
  const plain = await readJson(await post(hosted, '/completion', { ...body, return_tokens: true }));
  const banned = plain.tokens[0];
  const { content: spelled } = await readJson(await post(hosted, '/detokenize', { tokens: [banned] }));
  for (const logit_bias of [[[banned, false]], [[spelled, false]], { [banned]: false }]) {
    const other = await readJson(await post(hosted, '/completion', { ...body, return_tokens: true, logit_bias }));
    assert.not.ok(other.tokens.includes(banned), JSON.stringify(logit_bias));
  }
});

test('probabilities are those of the tokens', async ({ hosted }) => {
  const reply = await readJson(
    await post(hosted, '/completion', { ...common, prompt, n_probs: 5, return_tokens: true }),
  );
  const { completion_probabilities: found } = reply;
  assert.equal(
    found.map(({ id }: { id: number }) => id),
    reply.tokens,
  );
  for (const { logprob, top_logprobs: top } of found) {
    assert.is(top.length, 5);
    assert.is(top[0].logprob, logprob);
  }
});

test('probabilities of the draw are those that the samplers leave', async ({ hosted }) => {
  const asked = { ...common, prompt, n_probs: 5, n_predict: 6, seed: 3, temperature: 0.5, top_k: 3 };
  const { completion_probabilities: own } = await readJson(await post(hosted, '/completion', asked));
  const drawn = await readJson(await post(hosted, '/completion', { ...asked, post_sampling_probs: true }));
  assert.is(drawn.completion_probabilities.length, own.length);
  for (const [at, { id, prob, top_probs: top }] of drawn.completion_probabilities.entries()) {
    assert.is(id, own[at].id);
    const weights = own[at].top_logprobs.slice(0, 3).map(({ logprob }: { logprob: number }) => Math.exp(logprob / 0.5));
    const sum = weights.reduce((one: number, other: number) => one + other);
    assert.ok(top.length > 0 && top.length <= 3, JSON.stringify(top));
    for (const [place, each] of top.entries()) {
      assert.is(each.id, own[at].top_logprobs[place].id);
      assert.ok(Math.abs(each.prob - weights[place] / sum) < 1e-4, `${each.prob} and ${weights[place] / sum}`);
    }
    assert.is(prob, top.find((each: { id: number }) => each.id === id)?.prob);
  }
  const greedy = await readJson(
    await post(hosted, '/completion', { ...asked, temperature: 0, post_sampling_probs: true }),
  );
  for (const { id, prob, top_probs: top } of greedy.completion_probabilities) {
    assert.equal([prob, top.length, top[0].id, top[0].prob], [1, 1, id, 1]);
  }
});

test('the server tells of itself', async ({ hosted }) => {
  const props = await readJson(await hosted.get('/props'));
  const slots = await readJson(await hosted.get('/slots'));
  assert.equal([props.model_alias, slots.length], [MODEL, props.total_slots]);
  assert.is(slots[0].n_ctx, props.default_generation_settings.n_ctx);
  assert.equal(await readJson(await hosted.get('/lora-adapters')), []);
});

test.run();
