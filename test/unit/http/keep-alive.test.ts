import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { keepMsOf } from '../../../ts/api/shared/with-model.js';
import { testApp } from '../../support/build-app.js';

const test = suite('unit: how long a request has its model stay');

test('seconds, durations as Ollama takes them, and LM Studio’s name', () => {
  const cases: [Parameters<typeof keepMsOf>[0], number | undefined][] = [
    [{}, undefined],
    [{ keep_alive: 0 }, 0],
    [{ keep_alive: 90 }, 90_000],
    [{ keep_alive: 0.5 }, 500],
    [{ keep_alive: -1 }, Infinity],
    [{ keep_alive: '0' }, 0],
    [{ keep_alive: '300' }, 300_000],
    [{ keep_alive: '5m' }, 300_000],
    [{ keep_alive: '1h30m' }, 5_400_000],
    [{ keep_alive: '1.5h' }, 5_400_000],
    [{ keep_alive: '500ms' }, 500],
    [{ keep_alive: '-1' }, Infinity],
    [{ keep_alive: '-1m' }, Infinity],
    [{ ttl: 60 }, 60_000],
    [{ ttl: -1 }, Infinity],
    [{ keep_alive: '2m', ttl: 60 }, 120_000],
  ];
  for (const [body, wanted] of cases) assert.is(keepMsOf(body), wanted, JSON.stringify(body));
});

test('invalid and too long durations are refused with the field name', async () => {
  const { chat } = testApp();
  for (const value of ['', 'soon', 'm5', '5 m', '5x', '1e9', '300h', '9'.repeat(20), 1_000_001, true, [5]]) {
    const reply = await chat({ keep_alive: value });
    assert.equal([reply.statusCode, reply.json().error.param], [400, 'keep_alive'], String(value));
  }
  for (const value of [1.5, -2, 1_000_001, '60']) {
    const reply = await chat({ ttl: value });
    assert.equal([reply.statusCode, reply.json().error.param], [400, 'ttl'], String(value));
  }
});

test('every endpoint that needs a model takes them', async () => {
  const { send, chat } = testApp({ model: { pooling: 'rank' } });
  const use = { keep_alive: '5m', ttl: 60 };
  const bodies: [string, object][] = [
    ['/v1/completions', { model: 'fake', prompt: 'Hi' }],
    ['/v1/responses', { model: 'fake', input: 'Hi' }],
    ['/v1/messages', { model: 'fake', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }],
    ['/v1/embeddings', { model: 'fake', input: 'Hi' }],
    ['/v1/rerank', { model: 'fake', query: 'Hi', documents: ['a'] }],
  ];
  const replies = [await chat(use)];
  for (const [url, body] of bodies) replies.push(await send(url, { ...body, ...use }));
  for (const reply of replies) assert.is(reply.headers['x-chasqui-ignored'], undefined, reply.body);
});

test.run();
