import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Message } from '../../../ts/api/shared/chat/message-schema.js';
import { renderBody, renderMessages } from '../../../ts/api/shared/chat/render-chat.js';
import type { ChasquiError } from '../../../ts/errors.js';
import { FakeEngine } from '../../support/fake-engine.js';

const test = suite('unit: messages → prompt');

const part = { type: 'image_url' as const, image_url: { url: 'data:' } };
const messages: Message[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: [{ type: 'text', text: 'What is it?' }, part] },
  { role: 'user', content: [part, { type: 'text', text: 'And this?' }] },
];
const images = [{ bytes: Uint8Array.of(1) }, { bytes: Uint8Array.of(2) }];

test('the pictures take the places of the image parts, in order', async () => {
  const engine = new FakeEngine({ model: { vision: true } });
  const rendered = await renderMessages(engine, messages, images);
  assert.is(rendered.prompt, '<system>Be brief.<user>What is it?<image><user><image>And this?');
  assert.equal(rendered.images, images);
});

test('a model that takes text only refuses the first image, by its place', async () => {
  const rendering = renderBody(new FakeEngine(), { model: 'fake', messages }, { hosts: 'public' });
  const error = await rendering.then(
    () => null,
    (thrown: ChasquiError) => thrown,
  );
  assert.equal([error?.code, error?.param], ['image_not_supported', 'messages[1].content[1].image_url.url']);
});

test.run();
