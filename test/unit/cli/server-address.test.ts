// The address of a server, as people write it.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { askServer, serverAddress } from '../../../ts/cli/server-address.js';

for (const [given, address] of [
  ['127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['localhost:8080', 'http://localhost:8080'],
  ['http://localhost:8080/v1', 'http://localhost:8080'],
  ['http://localhost:8080/v1/', 'http://localhost:8080'],
  ['https://a.example/acme/chat/', 'https://a.example/acme/chat'],
] as const) {
  test(`${given} is a server's address`, () => {
    assert.is(serverAddress(given), address);
  });
}

test('other text is refused', () => {
  assert.throws(() => serverAddress('http://'), /is not an address of a server/);
});

test('a port that fetch refuses is named as the reason', async () => {
  const error = await askServer('http://127.0.0.1:10080', '/v1/models').then(
    () => assert.unreachable(),
    (reason: Error) => reason,
  );
  assert.match(error?.message ?? '', /fetch and browsers refuse this port/);
});

test.run();
