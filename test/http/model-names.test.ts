// The names of a model: whatever a completion may call it, the other endpoints know it by as well.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { CHAT_PATH } from '../support/build-app.js';
import { FakeEngine } from '../support/fake-engine.js';
import { sourceOf } from '../support/fake-source.js';

const test = suite('http: names of models');

const NAMES = ['main', 'gpt-4o', 'qwen3:latest', 'style', 'main:style', 'main:latest', 'gpt-4o:latest'];

async function appWithNames() {
  const engine = new FakeEngine({ model: { id: 'main', adapters: [{ name: 'style', scale: 1 }] } });
  const pool = new ManagedPool([
    {
      ...sourceOf(engine),
      aliases: ['gpt-4o', 'qwen3:latest'],
      adapters: [{ name: 'style', path: 'style.gguf', scale: 1 }],
    },
  ]);
  await pool.start(['main']);
  return buildApp(pool, runtime);
}

for (const name of NAMES) {
  test(`${name} is known to all endpoints`, async () => {
    const app = await appWithNames();
    const messages = [{ role: 'user', content: 'Hi' }];
    const post = async (url: string, payload: object) =>
      (await app.inject({ method: 'POST', url, payload })).statusCode;
    const get = async (url: string) => (await app.inject(url)).statusCode;
    assert.is(await post(CHAT_PATH, { model: name, messages }), 200);
    assert.is(await post('/api/chat', { model: name, messages, stream: false }), 200);
    assert.is(await post('/api/show', { model: name }), 200, 'shown');
    for (const url of ['/v1/models/', '/api/v0/models/', '/props?model=', '/slots?model=']) {
      assert.is(await get(url + name), 200, url);
    }
  });
}

test('other names are known to none', async () => {
  const app = await appWithNames();
  for (const name of ['gpt-4', 'qwen3', 'main:other', 'other:latest', ':latest', 'main:latest:latest']) {
    assert.is((await app.inject({ method: 'POST', url: '/api/show', payload: { model: name } })).statusCode, 404);
    for (const url of [`/v1/models/${name}`, `/api/v0/models/${name}`, `/props?model=${name}`]) {
      assert.is((await app.inject(url)).statusCode, 404, url);
    }
  }
});

test.run();
