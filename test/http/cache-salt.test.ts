// The salt of the prefix cache: in each protocol, and per owner behind a gateway.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OWNER_HEADER, ownerOfKey } from '../../ts/http/owner-header.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';

const test = suite('http: cache salts');

const CHAT = { model: 'fake', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 };
const REQUESTS: Readonly<Record<string, object>> = {
  '/v1/chat/completions': CHAT,
  '/v1/messages': CHAT,
  '/v1/completions': { model: 'fake', prompt: 'Hello' },
  '/v1/responses': { model: 'fake', input: 'Hello' },
};

for (const [url, body] of Object.entries(REQUESTS)) {
  test(`${url} passes the salt on, and bounds it`, async () => {
    const { app, engine } = testApp();
    const post = (salt?: string) => app.inject({ method: 'POST', url, payload: { ...body, cache_salt: salt } });
    assert.is((await post()).statusCode, 200);
    assert.is((await post('s'.repeat(256))).statusCode, 200);
    assert.equal(
      engine.jobs.map(({ cacheSalt }) => cacheSalt),
      ['', 's'.repeat(256)],
    );
    assert.is((await post('s'.repeat(257))).statusCode, 400);
  });

  test(`${url} behind a gateway: another owner has another salt`, async () => {
    const { app, engine } = testApp({}, { isBehindGateway: true });
    const saltOf = async (headers: Record<string, string>, salt?: string) => {
      const reply = await app.inject({ method: 'POST', url, payload: { ...body, cache_salt: salt }, headers });
      assert.is(reply.statusCode, 200, reply.body);
      assert.is(reply.headers['x-chasqui-ignored'], undefined);
      return engine.jobs.at(-1)?.cacheSalt;
    };
    const owner = (id: string) => ({ [OWNER_HEADER]: ownerOfKey(id) });
    const salts = [
      await saltOf({}),
      await saltOf({}, `${ownerOfKey('one')} `),
      await saltOf(owner('one')),
      await saltOf(owner('one'), 'x'),
      await saltOf(owner('two')),
    ];
    assert.is(new Set(salts).size, salts.length, JSON.stringify(salts));
    assert.is(await saltOf(owner('one')), salts[2]);
  });
}

test('a salt that is no text is refused by its name', async () => {
  const { chat } = testApp();
  expectError(await chat({ cache_salt: 5 }), { status: 400, code: 'invalid_type', param: 'cache_salt' });
});

test.run();
