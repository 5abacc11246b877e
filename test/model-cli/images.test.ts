import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DRAWING, type Format, picture, pictureUri } from '../support/image-files.js';
import { type ImageServer, imageServer } from '../support/image-server.js';
import { ENDLESS_CONTEXT } from '../support/long-answer.js';
import { type RunningServer, startServer } from '../support/start-server.js';
import { until } from '../support/until.js';

const test = suite<{ server: RunningServer; pictures: ImageServer; client: OpenAI }>('cli: images');

test.before(async (context) => {
  context.pictures = await imageServer();
  context.server = await startServer(['--ctx-size', String(ENDLESS_CONTEXT)]);
  context.client = new OpenAI({ baseURL: `${context.server.url}/v1`, apiKey: 'none', maxRetries: 0 });
});

test.after(async ({ server, pictures }) => {
  await server.stop();
  await pictures.close();
});

function ask(client: OpenAI, urls: readonly string[]) {
  return client.chat.completions.create({
    model: 'chasqui-demo',
    temperature: 0,
    max_tokens: 4,
    logprobs: true,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is in this picture?' },
          ...urls.map((url) => ({ type: 'image_url' as const, image_url: { url } })),
        ],
      },
    ],
  });
}

type Answer = Awaited<ReturnType<typeof ask>>;

const logprobs = (answer: Answer) => answer.choices[0]?.logprobs?.content?.map(({ logprob }) => logprob) ?? [];

function distance(one: Answer, other: Answer): number {
  const others = logprobs(other);
  return Math.max(...logprobs(one).map((logprob, index) => Math.abs(logprob - (others[index] ?? 0))));
}

test('embeddings of images, computed in the process of the engine', async ({ server }) => {
  const shown = { prompt_string: 'This: <__media__>', multimodal_data: [(await picture('png')).toString('base64')] };
  const reply = await fetch(`${server.url}/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ content: [shown, shown, { prompt_string: shown.prompt_string }] }),
  });
  assert.is(reply.status, 200);
  const [first, second, text] = (await reply.json()) as { embedding: number[][] }[];
  assert.equal(first?.embedding, second?.embedding);
  assert.not.equal(first?.embedding, text?.embedding);
});

test('a PNG by data URI and by address, whole and streamed, with the official client', async ({ client, pictures }) => {
  const embedded = await ask(client, [await pictureUri('png')]);
  const fetched = await ask(client, [`${pictures.url}/png`]);
  assert.is(fetched.choices[0]?.message.content, embedded.choices[0]?.message.content);
  assert.is(fetched.usage?.prompt_tokens, embedded.usage?.prompt_tokens);
  const stream = await client.chat.completions.create({
    model: 'chasqui-demo',
    temperature: 0,
    max_tokens: 4,
    stream: true,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is in this picture?' },
          { type: 'image_url', image_url: { url: await pictureUri('png') } },
        ],
      },
    ],
  });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  assert.is(text, embedded.choices[0]?.message.content);
});

test('each picture takes its place in the prompt', async ({ client }) => {
  const png = await pictureUri('png');
  const tokens: number[] = [];
  for (const count of [0, 1, 2, 3]) tokens.push((await ask(client, Array(count).fill(png))).usage?.prompt_tokens ?? 0);
  const [none = 0, one = 0, two = 0, three = 0] = tokens;
  assert.ok(one > none, `${tokens}`);
  assert.equal([two - one, three - two], [one - none, one - none]);
});

test('the same picture in another format is the same picture', async ({ client }) => {
  const png = await ask(client, [await pictureUri('png')]);
  const other = await ask(client, [await pictureUri('png', { ...DRAWING, ground: [0, 60, 0], square: [0, 0, 255] })]);
  const unlike = distance(png, other);
  for (const format of ['bmp', 'gif', 'webp', 'jpeg'] satisfies Format[]) {
    const answer = await ask(client, [await pictureUri(format)]);
    assert.ok(distance(png, answer) < unlike / 5, `${format}: ${distance(png, answer)} of ${unlike}`);
  }
});

test('an image with broken data is refused by name, and the next request completes', async ({ client }) => {
  for (const format of ['png', 'webp'] satisfies Format[]) {
    const file = await picture(format);
    const cut = `data:image/${format};base64,${file.subarray(0, file.length / 2).toString('base64')}`;
    const error = await ask(client, [await pictureUri('png'), cut]).catch((thrown) => thrown);
    assert.instance(error, OpenAI.BadRequestError, `${format}: ${JSON.stringify(error)}`);
    assert.equal([error.code, error.param], ['invalid_image', 'messages[0].content[2].image_url.url'], format);
    assert.ok((await ask(client, [await pictureUri(format)])).choices[0]?.message.content);
  }
});

test('a client that goes away leaves nothing running', async ({ client, server }) => {
  const controller = new AbortController();
  const urls = [await pictureUri('webp', { ...DRAWING, width: 3000, height: 2000 })];
  const asking = client.chat.completions.create(
    {
      model: 'chasqui-demo',
      temperature: 9,
      ...{ ignore_eos: true },
      messages: [{ role: 'user', content: urls.map((url) => ({ type: 'image_url' as const, image_url: { url } })) }],
    },
    { signal: controller.signal },
  );
  await until(async () => {
    const { active, queued } = await server.health();
    return active + queued > 0;
  }, 'it has begun');
  controller.abort();
  assert.instance(await asking.catch((thrown) => thrown), OpenAI.APIUserAbortError);
  assert.ok((await ask(client, [await pictureUri('png')])).choices[0]);
  await until(async () => {
    const { active, queued } = await server.health();
    return active === 0 && queued === 0;
  }, 'no sequence is held');
});

test.run();
