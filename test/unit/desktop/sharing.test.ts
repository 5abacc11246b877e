// Sharing in the local network: the open addresses, also after a change of the network.
import net from 'node:net';
import os from 'node:os';
import fastify from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ServerState } from '../../../ts/desktop/api-types.js';
import { localAddresses } from '../../../ts/desktop/sharing/local-addresses.js';
import { Sharing } from '../../../ts/desktop/sharing/sharing.js';
import { ChasquiError } from '../../../ts/errors.js';
import type { KeyCheck } from '../../../ts/http/guards/authentication.js';
import { freePort } from '../../support/free-port.js';

const test = suite('unit: sharing in the local network');

const running = (port: number): ServerState => ({
  state: 'running',
  port,
  address: `http://localhost:${port}`,
  model: 'm',
  error: null,
});

function share(addresses: string[]) {
  const values = new Map<string, unknown>();
  let open = 0;
  let built = 0;
  let admits: KeyCheck = () => false;
  const store = {
    kept: (name: string) => values.get(name),
    put: (name: string, value: unknown) => void values.set(name, value),
  };
  const sharing = new Sharing({
    store,
    build: (opens) => {
      open += 1;
      built += 1;
      admits = opens;
      const app = fastify({ forceCloseConnections: true });
      app.addHook('onClose', async () => {
        open -= 1;
      });
      app.get('/:key', async ({ params }) => opens((params as { key: string }).key));
      return app;
    },
    addresses: () => [...addresses],
    onChange: () => undefined,
  });
  return { sharing, store, values, open: () => open, built: () => built, admits: (key: string) => admits(key) };
}

const answer = (address: string, port: number, key: string): Promise<unknown> =>
  fetch(`http://${address}:${port}/${encodeURIComponent(key)}`)
    .then((reply) => reply.json())
    .catch(() => null);

test('public, IPv6 and internal addresses are not shared', () => {
  const entry = (address: string, internal = false) => ({
    address,
    internal,
    family: address.includes(':') ? 'IPv6' : 'IPv4',
  });
  const all = {
    lo: [entry('127.0.0.1', true), entry('::1', true)],
    wlan0: [entry('192.168.1.5'), entry('fd00::5'), entry('fe80::5'), entry('::ffff:10.0.0.1')],
    eth0: [entry('203.0.113.9'), entry('8.8.8.8'), entry('10.1.2.3'), entry('172.16.0.1'), entry('172.32.0.1')],
    vpn: [entry('100.64.0.7'), entry('169.254.1.1'), entry('192.0.2.2')],
  };
  const { networkInterfaces } = os;
  try {
    os.networkInterfaces = () => all as unknown as ReturnType<typeof networkInterfaces>;
    assert.equal(localAddresses(), ['192.168.1.5', '10.1.2.3', '172.16.0.1', '100.64.0.7', '169.254.1.1']);
  } finally {
    os.networkInterfaces = networkInterfaces;
  }
});

test('addresses that appear are opened, those that are gone are closed', async () => {
  const port = await freePort();
  const addresses: string[] = [];
  const { sharing, open } = share(addresses);
  sharing.follow(running(port));
  const { key } = await sharing.switch(true);
  assert.equal([sharing.state.addresses, open()], [[], 0]);
  for (const now of [['127.0.0.2'], ['127.0.0.2', '127.0.0.3'], ['127.0.0.3']]) {
    addresses.splice(0, addresses.length, ...now);
    await sharing.refresh();
    assert.equal(
      sharing.state.addresses,
      now.map((address) => `http://${address}:${port}`),
    );
    for (const address of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) {
      assert.is(await answer(address, port, String(key)), now.includes(address) ? true : null, address);
    }
    assert.is(open(), 1);
  }
  await sharing.close();
  assert.equal([sharing.state.addresses, open()], [[], 0]);
});

test('an address that cannot be opened yet is tried again, without building an application', async () => {
  const port = await freePort();
  const other = net.createServer().listen({ host: '127.0.0.3', port });
  await new Promise((resolve) => other.once('listening', resolve));
  const { sharing, open, built } = share(['127.0.0.2', '127.0.0.3']);
  try {
    sharing.follow(running(port));
    await sharing.switch(true);
    await sharing.refresh();
    assert.is(built(), 0);
    assert.match(String(sharing.state.error), /EADDRINUSE/);
    assert.equal([sharing.state.addresses, open(), await answer('127.0.0.2', port, 'x')], [[], 0, null]);
    await new Promise((resolve) => other.close(resolve));
    await sharing.refresh();
    assert.equal([sharing.state.error, sharing.state.addresses.length, open(), built()], [null, 2, 1, 1]);
  } finally {
    other.close();
    await sharing.close();
  }
});

test('while running replies are drained, the key is not valid', async () => {
  const { sharing, admits } = share(['127.0.0.2']);
  sharing.follow(running(await freePort()));
  const key = String((await sharing.switch(true)).key);
  assert.ok(admits(key));
  const [id, secret = ''] = key.split(':');
  for (const wrong of ['', `${id}:`, `${'0'.repeat(16)}:${secret}`, `${id}:${secret.toLowerCase()}`, secret]) {
    assert.not.ok(admits(wrong), wrong);
  }
  await sharing.switch(false);
  assert.not.ok(admits(key));
  await sharing.close();
});

test('what is stored does not contain the key, and a full disk changes nothing', async () => {
  const port = await freePort();
  const { sharing, store, values } = share(['127.0.0.2']);
  sharing.follow(running(port));
  const { key } = await sharing.switch(true);
  const secret = String(key).split(':')[1] as string;
  assert.not.ok(JSON.stringify([...values]).includes(secret));
  assert.not.ok(JSON.stringify([...values]).includes(Buffer.from(secret).toString('base64')));
  store.put = () => {
    throw new ChasquiError('store_failed', 'The disk is full.');
  };
  assert.throws(() => sharing.renewKey(), /disk is full/);
  const failed = await sharing.switch(false).then(
    () => null,
    (error: ChasquiError) => error.code,
  );
  assert.equal([failed, sharing.state.on, await answer('127.0.0.2', port, String(key))], ['store_failed', true, true]);
  await sharing.close();
});

test.run();
