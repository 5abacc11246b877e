// Probabilities of tokens in replies of llama-server's endpoint.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type TestApp, testApp } from '../support/build-app.js';
import { readSse } from '../support/read-sse.js';

const test = suite('http: probabilities of tokens');

function complete({ send }: TestApp, body: Record<string, unknown> = {}) {
  return send('/completion', { prompt: 'Hi', ...body });
}

test('probabilities come with ids, in streams token by token', async () => {
  const entry = (id: number, logprob: number) => ({ id, bytes: Buffer.from('x'), logprob });
  const logprobs = { ...entry(4, -0.5), top: [entry(4, -0.5), entry(5, Number.NEGATIVE_INFINITY)] };
  const app = testApp({
    batches: () => [
      [
        { id: 4, text: 'x', logprobs },
        { id: 2, text: '', logprobs: { ...logprobs, id: 2 } },
      ],
    ],
  });
  const shown = { token: 'x', bytes: [120] };
  const expected = {
    id: 4,
    ...shown,
    logprob: -0.5,
    top_logprobs: [
      { id: 4, ...shown, logprob: -0.5 },
      { id: 5, ...shown, logprob: -9999 },
    ],
  };
  // The end of generation is listed, too.
  const last = { ...expected, id: 2 };
  const listed = async (body: Record<string, unknown>) => (await complete(app, body)).json().completion_probabilities;
  assert.equal(await listed({ n_probs: 2 }), [expected, last]);
  assert.is(app.engine.jobs[0]?.topLogprobs, 2);
  const { events } = readSse((await complete(app, { n_probs: 2, stream: true })).body);
  const streamed = events.flatMap(
    (event) => (event as { completion_probabilities?: unknown[] }).completion_probabilities ?? [],
  );
  assert.equal(streamed, [expected, last]);
  assert.is((await complete(app, { n_probs: 256 })).statusCode, 200);
  assert.not.ok('completion_probabilities' in (await complete(testApp(), { n_probs: 0 })).json());
  assert.is(app.engine.jobs[0]?.logprobsAfter, false);

  const drawn = (await complete(app, { n_probs: 2, post_sampling_probs: true })).json();
  const prob = Math.exp(-0.5);
  const top_probs = [
    { id: 4, ...shown, prob },
    { id: 5, ...shown, prob: 0 },
  ];
  assert.equal(drawn.completion_probabilities, [
    { id: 4, ...shown, prob, top_probs },
    { id: 2, ...shown, prob, top_probs },
  ]);
  assert.is(drawn.generation_settings.post_sampling_probs, true);
  assert.is(app.engine.jobs.at(-1)?.logprobsAfter, true);
});

test.run();
