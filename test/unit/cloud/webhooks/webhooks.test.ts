// Webhooks: their addresses, their signature, and retries.
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { QueueStore } from '../../../../ts/cloud/queue/queue-store.ts';
import { webhookCalls } from '../../../../ts/cloud/queue/webhook-calls.ts';
import { type Database, openDatabase } from '../../../../ts/cloud/store/database.ts';
import { sign, Webhooks } from '../../../../ts/cloud/webhooks/webhooks.ts';
import { until } from '../../../support/until.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-cloud-webhooks-'));
const KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const NOTHING = () => undefined;
let database: Database;
let store: QueueStore;

test.before(() => {
  database = openDatabase(folder);
  store = new QueueStore(database);
});
test.after(() => {
  database.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

const webhooks = (hosts: 'public' | 'loopback', key = KEY) =>
  new Webhooks({ source: webhookCalls(store), keyOf: () => key, hosts, onError: NOTHING });

test('the signature is that of Standard Webhooks', () => {
  // The example of the specification's libraries.
  const body = Buffer.from('{"test": 2432232314}');
  assert.is(
    sign(KEY, 'msg_p5jXN8AQM9LWM0D4loKWxJek', '1614265330', body),
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
});

test('only public https addresses are accepted, and those of this machine if allowed', () => {
  const isAccepted = (hosts: 'public' | 'loopback', url: string) => {
    try {
      return webhooks(hosts).check('acme', url, 'webhook').length > 0;
    } catch (error) {
      assert.is((error as { code: string }).code, 'invalid_value');
      return false;
    }
  };
  for (const url of ['https://example.com/a?b', 'https://example.com:8443/', 'https://93.184.216.34/']) {
    assert.ok(isAccepted('public', url), url);
  }
  for (const url of ['https://localhost/', 'http://127.0.0.1:1/', 'http://[::1]:1/', 'https://a.localhost/']) {
    assert.equal([isAccepted('public', url), isAccepted('loopback', url)], [false, true], url);
  }
  for (const url of [
    '',
    'example.com',
    'http://example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'https://user@example.com/',
    'https://10.0.0.1/',
    'https://192.168.1.1/',
    'https://169.254.169.254/latest',
    'https://0.0.0.0/',
    'https://0x7f000001.0x1/',
    'https://[fe80::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://[fd00::1]/',
    `https://example.com/${'x'.repeat(3000)}`,
  ]) {
    assert.not.ok(isAccepted('loopback', url), url);
  }
  assert.not.ok(isAccepted('public', 'https://2130706433/'), '127.0.0.1 as a number');
});

test('a weak key is refused', () => {
  for (const key of ['', 'short', 'whsec_c2hvcnQ=', KEY.slice(6)]) {
    assert.throws(
      () => webhooks('public', key).check('acme', 'https://example.com/', 'webhook'),
      /chasqui secrets set WEBHOOK_KEY/,
    );
  }
});

test('redirects are not followed, and the webhook fails for good after ten retries', async () => {
  const paths: string[] = [];
  const server = http.createServer((request, response) => {
    paths.push(request.url ?? '');
    response.writeHead(302, { location: '/other' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const webhook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const id = store.add({ org: 'acme', app: 'chat', keyId: 'k', path: '/v1/x', body: Buffer.from('{}'), webhook });
  store.finish(id, { status: 200, type: 'application/json', body: Buffer.from('{}') });
  const calling = webhooks('loopback');
  for (let attempt = 1; attempt <= 11; attempt++) {
    calling.tick();
    await until(() => store.find(id)?.webhookAttempts === attempt, `attempt ${attempt}`);
    if (attempt === 11) break;
    assert.ok((store.find(id)?.webhookDue ?? 0) > Date.now() - 60_000);
    database.run('UPDATE queue_requests SET webhook_due = 0 WHERE id = ?', [id]);
  }
  calling.close();
  server.closeAllConnections();
  server.close();
  assert.is(store.find(id)?.webhookDue, null);
  assert.match(store.find(id)?.webhookError ?? '', 'redirected');
  assert.equal(paths, Array(11).fill('/hook'));
});

test('a name that resolves to this machine is not called', async () => {
  const id = store.add({
    ...{ org: 'acme', app: 'chat', keyId: 'k', path: '/v1/x', body: Buffer.from('{}') },
    webhook: 'https://localhost:9/',
  });
  store.finish(id, { status: 200, type: 'application/json', body: Buffer.from('{}') });
  const calling = webhooks('public');
  calling.tick();
  await until(() => store.find(id)?.webhookAttempts === 1, 'the attempt');
  calling.close();
  assert.match(store.find(id)?.webhookError ?? '', 'no address that may be connected to');
});

test.run();
