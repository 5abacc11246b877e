// The gateway's own TLS: by certificate files that may change while it runs; and where it may listen without.
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { refusePlainPublicListen } from '../../ts/cloud/gateway/front-server.js';
import { isLoopback } from '../../ts/images/public-address.js';
import { Certificate } from '../../ts/server/certificate.js';
import { makeCertificate } from '../support/certificate.js';
import { closeGateways, KEY, startGateway, startRunner, TestDeployment } from '../support/gateway.js';
import { until } from '../support/until.js';

const folder = mkdtempSync(path.join(os.tmpdir(), 'gateway-tls-'));
const test = suite('cloud: TLS');

test.after.each(closeGateways);
test.after(() => rmSync(folder, { recursive: true }));

const [first, second] = [makeCertificate(folder, 'first'), makeCertificate(folder, 'second')];

/** Sends a request over TLS. Returns the name in the certificate, and the reply. */
function ask(port: number): Promise<{ name: string; reply: string }> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({ model: 'fake', stream: true, messages: [{ role: 'user', content: 'x' }] });
    const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      const head = ['POST /acme/chat/v1/chat/completions HTTP/1.1', 'Host: x', `Authorization: Key ${KEY}`];
      socket.write(`${head.join('\r\n')}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
    const name = () => String(socket.getPeerCertificate().subject?.CN);
    let reply = '';
    let seen = '';
    socket.once('secureConnect', () => {
      seen = name();
    });
    socket.on('data', (data) => (reply += data));
    socket.on('error', reject);
    socket.on('close', () => resolve({ name: seen, reply }));
  });
}

test('streams come through TLS, and a new certificate is used without a restart', async () => {
  const [cert, key] = [path.join(folder, 'now.crt'), path.join(folder, 'now.key')];
  copyFileSync(first.cert, cert);
  copyFileSync(first.key, key);
  const { socketPath } = await startRunner();
  const app = new TestDeployment('acme', 'chat').run(socketPath);
  const { port } = await startGateway([app], {}, { certificate: new Certificate(cert, key, 20) });
  const before = await ask(port);
  assert.is(before.name, 'first');
  assert.match(before.reply, /^HTTP\/1\.1 200 [\s\S]*data: \[DONE\]/);
  copyFileSync(second.cert, cert);
  assert.is((await ask(port)).name, 'first', 'the files do not fit each other now');
  copyFileSync(second.key, key);
  await until(async () => (await ask(port)).name === 'second', 'the new certificate is used');
});

test('files that are no certificate with its key are refused by name', () => {
  writeFileSync(path.join(folder, 'nonsense'), 'nonsense');
  for (const [cert, key, pattern] of [
    [path.join(folder, 'absent'), first.key, /`tlsCert` cannot be read/],
    [first.cert, path.join(folder, 'absent'), /`tlsKey` cannot be read/],
    [path.join(folder, 'nonsense'), first.key, /are no certificate with its key/],
    [first.cert, path.join(folder, 'nonsense'), /are no certificate with its key/],
    [first.cert, second.key, /do not belong together/],
  ] as const) {
    assert.throws(
      () => new Certificate(cert, key).read(),
      (error: { code: string; message: string }) => error.code === 'invalid_options' && pattern.test(error.message),
    );
  }
});

test('without TLS it listens on this machine only, unless a proxy has it or somebody insists', () => {
  const plain = { hasCertificate: false, trustProxy: false, insecure: false };
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', '[::1]', 'localhost', '::ffff:127.0.0.1']) {
    assert.ok(isLoopback(host), host);
    refusePlainPublicListen({ host, ...plain });
  }
  for (const host of ['0.0.0.0', '::', '192.168.1.2', 'example.com', 'localhost.example.com', '128.0.0.1', '']) {
    assert.throws(() => refusePlainPublicListen({ host, ...plain }), /plain text/);
    for (const reason of ['hasCertificate', 'trustProxy', 'insecure'] as const) {
      refusePlainPublicListen({ host, ...plain, [reason]: true });
    }
  }
});

test.run();
