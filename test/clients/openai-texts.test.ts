// The official client's endpoints for texts, and its retries, with a real server and the demo model.
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ENDLESS_CONTEXT } from '../support/long-answer.js';
import { HostedMode, MODEL, MODES, type Mode } from '../support/modes.js';
import { startServer } from '../support/start-server.js';
import { until } from '../support/until.js';

const model = MODEL;
const messages = [{ role: 'user' as const, content: 'Count from 3 to 9' }];

/** A client, and the statuses of all replies that it has read. */
function countingClient(baseURL: string, headers: Record<string, string>, maxRetries: number) {
  const statuses: number[] = [];
  const client = new OpenAI({
    baseURL: `${baseURL}/v1`,
    apiKey: 'not-needed',
    defaultHeaders: headers,
    maxRetries,
    fetch: async (url, init) => {
      const reply = await fetch(url, init);
      statuses.push(reply.status);
      return reply;
    },
  });
  return { client, statuses };
}

function testIn(mode: Mode): void {
  const test = suite<{ hosted: HostedMode; client: OpenAI; statuses: number[] }>(
    `clients: openai, texts, ${mode} mode`,
  );

  test.before(async (context) => {
    context.hosted = await HostedMode.start(mode);
    Object.assign(context, countingClient(context.hosted.baseUrl, context.hosted.authorization, 2));
  });
  test.after(({ hosted }) => hosted.stop());

  test('gets vectors, the same as numbers and in base64', async ({ client }) => {
    const input = ['How is the weather?', 'Count from 3 to 9', 'How is the weather?'];
    const { data, usage } = await client.embeddings.create({ model, input });
    const [first = [], second = [], third = []] = data.map(({ embedding }) => embedding);
    assert.equal(first, third);
    assert.not.equal(first, second);
    assert.ok(Math.abs(Math.hypot(...first) - 1) < 1e-3);
    assert.ok(usage.prompt_tokens > 6);
    // The client requests base64 by default. Send the same texts in one request, because kernels round differently for
    // other lengths.
    const numbers = await client.embeddings.create({ model, input, encoding_format: 'float' });
    assert.equal(
      numbers.data.map(({ embedding }) => embedding.map(Math.fround)),
      [first, second, third],
    );
  });

  test('continues a text, whole and streamed', async ({ client }) => {
    const request = { model, prompt: '3, 4, 5,', temperature: 0, max_tokens: 6 };
    const whole = await client.completions.create(request);
    let text = '';
    for await (const { choices } of await client.completions.create({ ...request, stream: true })) {
      text += choices[0]?.text ?? '';
    }
    assert.ok(text.length > 0);
    assert.is(whole.choices[0]?.text, text);
  });

  test('does not ask again for what can never be', async ({ client, statuses }) => {
    statuses.length = 0;
    const failure = await client.chat.completions
      .create({ model, messages, temperature: -1 })
      .catch((thrown) => thrown);
    assert.instance(failure, OpenAI.BadRequestError);
    assert.equal(statuses, [400]);
  });

  test.run();
}

for (const mode of MODES) testIn(mode);

const busy = suite('clients: openai, a server that is full');

busy('is asked again after the time that it says', async () => {
  const server = await startServer([
    '--parallel',
    '1',
    '--max-queue',
    '0',
    '--ctx-size',
    `${ENDLESS_CONTEXT}`,
    '--threads',
    '1',
  ]);
  try {
    const { client, statuses } = countingClient(server.url, {}, 5);
    const endless = { model, messages, stream: true as const, ignore_eos: true, n: 1 };
    const holder = await client.chat.completions.create(endless as typeof endless & { stream: true });
    const iterator = holder[Symbol.asyncIterator]();
    await iterator.next();
    const waiting = client.chat.completions.create({ model, messages, max_tokens: 3 });
    await until(() => statuses.includes(429), 'the server is full');
    await iterator.return?.();
    assert.is((await waiting).usage?.completion_tokens, 3);
    assert.equal([...new Set(statuses)], [200, 429]);
    assert.is(statuses.at(-1), 200);
    const hasty = client.withOptions({ maxRetries: 0 });
    assert.is((await hasty.chat.completions.create({ model, messages, max_tokens: 1 })).choices.length, 1);
  } finally {
    await server.stop();
  }
});

busy.run();
