// What `npm start` serves, asked about pictures with the official client.
import jpeg from 'jpeg-js';
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BLUE, drawnShapes, RED } from '../support/drawn-shapes.js';
import { dataUri } from '../support/image-files.js';
import { type ImageServer, imageServer } from '../support/image-server.js';
import { type Pixels, toPng } from '../support/picture.js';
import { type RunningServer, startServer } from '../support/start-server.js';

const test = suite<{ server: RunningServer; pictures: ImageServer; client: OpenAI }>('cli: the demo model sees');

const circles = drawnShapes(320, 240, [
  { kind: 'circle', colour: RED, x: 80, y: 110, radius: 45 },
  { kind: 'circle', colour: RED, x: 220, y: 140, radius: 60 },
]);
const square = drawnShapes(200, 200, [{ kind: 'square', colour: BLUE, x: 110, y: 90, radius: 35 }]);

test.before(async (context) => {
  context.pictures = await imageServer({ '/circles.png': (_, response) => response.end(toPng(circles)) });
  context.server = await startServer();
  context.client = new OpenAI({ baseURL: `${context.server.url}/v1`, apiKey: 'none', maxRetries: 0 });
});

test.after(async ({ server, pictures }) => {
  await server.stop();
  await pictures.close();
});

const pngUri = (pixels: Pixels) => dataUri(toPng(pixels), 'image/png');

function jpegUri({ width, height, rgb }: Pixels): string {
  const data = Buffer.alloc(4 * width * height, 255);
  for (let i = 0; i < width * height; i++) data.set(rgb.subarray(3 * i, 3 * i + 3), 4 * i);
  return dataUri(jpeg.encode({ width, height, data }, 90).data, 'image/jpeg');
}

async function ask(client: OpenAI, text: string, urls: readonly string[]): Promise<string> {
  const images = urls.map((url) => ({ type: 'image_url' as const, image_url: { url } }));
  const content = [{ type: 'text' as const, text }, ...images];
  const body = { model: 'chasqui-demo', temperature: 0, messages: [{ role: 'user' as const, content }] };
  return (await client.chat.completions.create(body)).choices[0]?.message.content ?? '';
}

test('what is in a PNG given by data URI or by address, and in a JPEG', async ({ client, pictures }) => {
  const question = 'What is in this picture?';
  const seen = 'I see two red circles.';
  assert.is(await ask(client, question, [pngUri(circles)]), seen);
  assert.is(await ask(client, question, [`${pictures.url}/circles.png`]), seen);
  assert.is(await ask(client, question, [jpegUri(circles)]), seen);
  assert.is(await ask(client, question, [pngUri(square)]), 'I see one blue square.');
});

test('how many, which colour, which shape', async ({ client }) => {
  const about = (question: string) => ask(client, question, [pngUri(circles)]);
  assert.match(await about('How many shapes are there?'), /two/);
  assert.match(await about('Which colour is it?'), /red/);
  assert.match(await about('Which shape do you see?'), /circle/);
});

test('a conversation with a picture is shown as the model reads it', async ({ server }) => {
  const content = [
    { type: 'text', text: 'What is it?' },
    { type: 'image_url', image_url: { url: pngUri(square) } },
  ];
  const reply = await fetch(`${server.url}/apply-template`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content }] }),
  });
  assert.is(reply.status, 200);
  const { prompt } = (await reply.json()) as { prompt: string };
  assert.match(prompt, /<\|im_start\|>user\nWhat is it\?.+<\|im_end\|>/s);
});

test('which of two pictures holds the larger shape', async ({ client }) => {
  const small = drawnShapes(160, 160, [{ kind: 'circle', colour: RED, x: 60, y: 90, radius: 22 }]);
  const large = drawnShapes(256, 256, [{ kind: 'square', colour: BLUE, x: 130, y: 120, radius: 85 }]);
  const question = 'Which picture has the larger shape?';
  assert.match(await ask(client, question, [pngUri(small), pngUri(large)]), /second/);
  assert.match(await ask(client, question, [pngUri(large), pngUri(small)]), /first/);
});

test.run();
