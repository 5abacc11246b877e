import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ImageServer, imageServer } from '../support/image-server.js';
import { readJson } from '../support/read-json.js';
import { startServer } from '../support/start-server.js';

const test = suite<{ pictures: ImageServer }>('cli: where images may be fetched from');

test.before(async (context) => {
  context.pictures = await imageServer();
});

test.after(({ pictures }) => pictures.close());

/** Asks about a picture of this machine's own server; an empty string or the error's code. */
async function outcome(args: readonly string[], pictureUrl: string): Promise<string> {
  const server = await startServer(args);
  try {
    const content = [{ type: 'image_url', image_url: { url: pictureUrl } }];
    const reply = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chasqui-demo', max_tokens: 1, messages: [{ role: 'user', content }] }),
    });
    const { error } = await readJson(reply);
    return error?.code ?? '';
  } finally {
    await server.stop();
  }
}

test('a server of this machine only fetches from this machine, one that is open to others does not', async ({
  pictures,
}) => {
  const url = `${pictures.url}/png`;
  assert.is(await outcome([], url), '');
  assert.is(pictures.seen.length, 1);
  assert.is(await outcome(['--host', '0.0.0.0'], url), 'image_download_failed');
  assert.is(pictures.seen.length, 1);
  assert.is(await outcome(['--host', '0.0.0.0', '--allow-private-image-hosts'], url), '');
  assert.is(pictures.seen.length, 2);
});

test.run();
