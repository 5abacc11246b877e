// Paths of llama-server without `/v1`, in the local modes.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { desktop } from '../../ts/profiles/desktop.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { closeApps, testApp } from '../support/build-app.js';

const test = suite('http: paths without /v1');

test.after.each(closeApps);

const messages = [{ role: 'user', content: 'Hi' }];

for (const profile of [runtime, desktop]) {
  test(`the paths reply as those that they stand for, in ${profile.mode} mode`, async () => {
    const { app } = testApp({}, {}, profile);
    const post = async (url: string, payload: object) =>
      (await app.inject({ method: 'POST', url, payload: { model: 'fake', ...payload } })).json();
    assert.is((await post('/chat/completions', { messages })).object, 'chat.completion');
    assert.is((await post('/responses', { input: 'Hi' })).object, 'response');
    assert.is((await post('/completions', { prompt: 'Hi' })).content, 'Hello!');
    for (const [url, payload] of [
      ['/chat/completions/input_tokens', { messages }],
      ['/responses/input_tokens', { input: 'Hi' }],
      ['/embeddings', { input: 'Hi' }],
    ] as const) {
      const prefixed = url === '/embeddings' ? '/embedding' : `/v1${url}`;
      assert.equal(await post(url, payload), await post(prefixed, payload), url);
    }
    const models = await app.inject('/models');
    assert.equal(models.json(), (await app.inject('/v1/models')).json());
    const wrong = await app.inject({ method: 'PUT', url: '/models' });
    assert.equal([wrong.statusCode, wrong.headers.allow], [405, 'GET, HEAD']);
  });
}

test('serverless mode does not have them', async () => {
  const deployed = { deployment: { org: 'o', app: 'a' }, access: 'public' } as const;
  const { app } = testApp({}, deployed, serverless);
  for (const url of ['/models', '/o/a/models']) assert.is((await app.inject(url)).statusCode, 404);
});

test.run();
