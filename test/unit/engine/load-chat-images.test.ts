import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type GenerateMessage, loadChatImages, mediaIn } from '../../../ts/engine/load-chat-images.js';
import { ChasquiError } from '../../../ts/errors.js';
import { picture, pictureUri } from '../../support/image-files.js';
import { imageServer } from '../../support/image-server.js';

const test = suite('unit: pictures of a conversation in this process');

const image = (of: Uint8Array | { bytes: Uint8Array }) => ({ type: 'image' as const, image: of });
const imageUrl = (url: string) => ({ type: 'image_url' as const, image_url: { url } });

test('bytes, pixels, data URIs and addresses, each in its place', async () => {
  const server = await imageServer();
  try {
    const [png, bmp, gif, jpeg] = await Promise.all((['png', 'bmp', 'gif', 'jpeg'] as const).map((f) => picture(f)));
    const pixels = { width: 1, height: 1, rgb: Uint8Array.from([1, 2, 3]) };
    const messages: GenerateMessage[] = [
      { role: 'system', content: 'Look.' },
      {
        role: 'user',
        name: 'Ana',
        content: [image(bmp as Buffer), { type: 'text', text: 'and' }, { type: 'image', image: pixels }],
      },
      {
        role: 'user',
        content: [imageUrl(`${server.url}/png`), image({ bytes: gif as Buffer }), imageUrl(await pictureUri('jpeg'))],
      },
    ];
    const loaded = await loadChatImages(messages, { hosts: 'loopback' });
    assert.equal(loaded, [
      { role: 'system', content: 'Look.' },
      {
        role: 'user',
        name: 'Ana',
        content: [
          { type: 'image', image: { bytes: bmp } },
          { type: 'text', text: 'and' },
          { type: 'image', image: pixels },
        ],
      },
      { role: 'user', content: [png, gif, jpeg].map((bytes) => ({ type: 'image', image: { bytes } })) },
    ]);
  } finally {
    await server.close();
  }
});

test('errors name the invalid message or part', async () => {
  const png = await picture('png');
  for (const [part, param] of [
    [image(png.subarray(0, 20)), 'messages[1].content[1].image'],
    [imageUrl('http://127.0.0.1:1/'), 'messages[1].content[1].image_url.url'],
  ] as const) {
    const messages: GenerateMessage[] = [
      { role: 'user', content: [image(png)] },
      { role: 'user', content: [{ type: 'text', text: 'And?' }, part] },
    ];
    const error = await loadChatImages(messages, { hosts: 'public' }).catch((thrown) => thrown);
    assert.instance(error, ChasquiError);
    assert.is(error.param, param);
  }
});

test('whether there are any', () => {
  assert.equal(mediaIn([{ role: 'user', content: 'Hi' }]), []);
  assert.equal(mediaIn([{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }]), []);
  const audio = { type: 'input_audio' as const, input_audio: { data: 'x' } };
  const content = [{ type: 'text' as const, text: 'Hi' }, imageUrl('x'), audio];
  assert.equal(mediaIn([{ role: 'user', content }]), ['image', 'audio']);
});

test.run();
