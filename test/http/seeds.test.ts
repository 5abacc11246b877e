// A request's seed reaches its job, whichever protocol it speaks: a job that has one is not drafted from the text so far.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';

const test = suite('http: seeds');

const messages = [{ role: 'user', content: 'Hi' }];

const ENDPOINTS: [url: string, body: object, seeded: object][] = [
  ['/v1/chat/completions', { messages }, { seed: 3 }],
  ['/v1/completions', { prompt: 'Once' }, { seed: 3 }],
  ['/v1/responses', { input: 'Hi' }, { seed: 3 }],
  ['/v1/messages', { messages, max_tokens: 9 }, { seed: 3 }],
  ['/completion', { prompt: 'Once' }, { seed: 3 }],
  ['/infill', { input_prefix: 'a', input_suffix: 'b' }, { seed: 3 }],
  ['/api/chat', { messages, stream: false }, { options: { seed: 3 } }],
  ['/api/generate', { prompt: 'Once', stream: false }, { options: { seed: 3 } }],
];

for (const [url, body, seeded] of ENDPOINTS) {
  test(`${url}: the seed of a request that has one, and none of another`, async () => {
    const { engine, send } = testApp({ model: { infills: true } });
    for (const more of [seeded, {}]) {
      const reply = await send(url, { model: 'fake', ...body, ...more });
      assert.is(reply.statusCode, 200, reply.body);
      assert.is(reply.headers['x-chasqui-ignored'], undefined);
    }
    assert.equal(
      engine.jobs.map(({ sampling }) => sampling.seed),
      [3, null],
    );
  });
}

test.run();
