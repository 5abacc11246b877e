// A request's seed reaches its job, whichever protocol it speaks: whether it is drafted from the text so far depends on it.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';

const test = suite('http: seeds');

const messages = [{ role: 'user', content: 'Hi' }];

const top = (seed: number) => ({ seed });
const within = (seed: number) => ({ options: { seed } });

const ENDPOINTS: [url: string, body: object, withSeed: (seed: number) => object][] = [
  ['/v1/chat/completions', { messages }, top],
  ['/v1/completions', { prompt: 'Once' }, top],
  ['/v1/responses', { input: 'Hi' }, top],
  ['/v1/messages', { messages, max_tokens: 9 }, top],
  ['/completion', { prompt: 'Once' }, top],
  ['/infill', { input_prefix: 'a', input_suffix: 'b' }, top],
  ['/api/chat', { messages, stream: false }, within],
  ['/api/generate', { prompt: 'Once', stream: false }, within],
];

for (const [url, body, withSeed] of ENDPOINTS) {
  test(`${url}: the seed of a request that has one, and none of another`, async () => {
    const { engine, send } = testApp({ model: { infills: true } });
    // The last two are how clients of other servers ask for any.
    for (const more of [withSeed(3), {}, withSeed(-1), withSeed(2 ** 32 - 1)]) {
      const reply = await send(url, { model: 'fake', ...body, ...more });
      assert.is(reply.statusCode, 200, reply.body);
      assert.is(reply.headers['x-chasqui-ignored'], undefined);
    }
    assert.equal(
      engine.jobs.map(({ sampling }) => sampling.seed),
      [3, null, null, null],
    );
  });
}

test.run();
