// Commands about the models of a server that wants a key.
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { runCli } from '../support/child.js';
import { FakeEngine } from '../support/fake-engine.js';

const test = suite('cli: models of a server that wants a key');

for (const authentication of ['bearer', 'key'] as const) {
  test(`the key of the variable opens a server of the scheme ${authentication}`, async () => {
    const pool = ManagedPool.of(new FakeEngine());
    const app = buildApp(pool, { ...runtime, authentication }, { access: (key) => key === 'id:secret' });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    try {
      const listed = await runCli(['ps', '--url', url], { CHASQUI_API_KEY: 'id:secret' });
      assert.equal([listed.code, listed.stderr], [0, '']);
      const refused = await runCli(['ps', '--url', url], { CHASQUI_API_KEY: 'another' });
      assert.is(refused.code, 3);
      assert.match(refused.stderr, /refused that/);
    } finally {
      await app.close();
    }
  });
}

test.run();
