import net, { type AddressInfo } from 'node:net';
import fastify from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DeveloperServer } from '../../../ts/desktop/developer-server.js';
import type { ChasquiError } from '../../../ts/errors.js';

const test = suite('unit: the server of the Developer view');

async function listening(host: string, port = 0): Promise<net.Server> {
  const server = net.createServer().listen(port, host);
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  return server;
}

/** Starts a server at a port, and tells why it did not start and how many of the applications made for it are open. */
async function failedStart(port: number): Promise<{ code: string; open: number }> {
  let open = 0;
  const server = new DeveloperServer(
    {
      host: '127.0.0.1',
      build: () => {
        open += 1;
        const app = fastify({ forceCloseConnections: true });
        app.addHook('onClose', async () => {
          open -= 1;
        });
        return app;
      },
      load: async (id) => ({ id }),
      cancelLoad: () => {},
      onStarted: () => {},
      onChange: () => {},
    },
    port,
  );
  const error = await server.start('any', port).then(
    () => assert.unreachable(),
    (reason: unknown) => reason,
  );
  assert.equal([server.state.state, server.state.error], ['stopped', (error as Error).message]);
  return { code: (error as ChasquiError).code, open };
}

test('a server whose port is taken is closed again', async () => {
  const other = await listening('127.0.0.1');
  const { port } = other.address() as AddressInfo;
  try {
    assert.equal(await failedStart(port), { code: 'port_in_use', open: 0 });
  } finally {
    other.close();
  }
});

test('so it is where the second address of localhost is taken', async () => {
  const other = await listening('::1').catch(() => null);
  // A machine may have no such address.
  if (other === null) return;
  const { port } = other.address() as AddressInfo;
  try {
    assert.equal(await failedStart(port), { code: 'port_in_use', open: 0 });
  } finally {
    other.close();
  }
});

test.run();
