// `chasqui cloud start` with certificate files: a cloud that is reached by TLS alone, from its deployment to a stream.
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeCertificate } from '../support/certificate.js';
import { runCli, startChild, untilWritten } from '../support/child.js';
import { writeScript } from '../support/cloud.js';

const test = suite('cloud: started with TLS');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-tls-'));
const { cert, key: keyFile } = makeCertificate(folder, 'cloud');
const variables = { CHASQUI_HOME: path.join(folder, 'home'), NODE_EXTRA_CA_CERTS: cert };

test.after(() => fs.rmSync(folder, { recursive: true, force: true }));

function post(url: string, headers: Record<string, string>): Promise<{ status: number | undefined; text: string }> {
  const messages = [{ role: 'user', content: 'Hello!' }];
  const body = JSON.stringify({ model: 'chasqui-demo', messages, max_tokens: 3, stream: true });
  const options = { method: 'POST', ca: fs.readFileSync(cert), headers };
  return new Promise((resolve, reject) => {
    const request = https.request(`${url}/v1/chat/completions`, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (data) => {
        text += data;
      });
      response.once('error', reject).once('end', () => resolve({ status: response.statusCode, text }));
    });
    request.once('error', reject).end(body);
  });
}

test('deployed and called over TLS, and not without', async () => {
  const start = ['cloud', 'start', '--port', '0', '--tls-cert', cert, '--tls-key', keyFile];
  const child = startChild('ts/cli.ts', start, variables);
  const [, base = ''] = await untilWritten(child, /^The cloud is at (https:\S+); /m);
  const script = writeScript(`export const chat = app({ model: 'demo', context: 512 });`);
  const deployed = await runCli(['deploy', `${script}::chat`, '--app-name', 'chat', '--json'], variables);
  assert.is(deployed.code, 0, deployed.stderr);
  const { url } = JSON.parse(deployed.stdout) as { url: string };
  assert.is(url, `${base}/me/chat`);
  const made = await runCli(['keys', 'create', '--org', 'me', '--json'], variables);
  const { key } = JSON.parse(made.stdout) as { key: string };
  const reply = await post(url, { authorization: `Key ${key}` });
  assert.is(reply.status, 200);
  assert.match(reply.text, /data: \[DONE\]\n\n$/);
  assert.is((await post(url, {})).status, 401);
  const plain = await new Promise<string>((resolve) => {
    http
      .get(`${url.replace('https:', 'http:')}/status`, (response) => resolve(`status ${response.statusCode}`))
      .once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
  });
  assert.not.match(plain, /^status [23]/);
  child.process.kill('SIGTERM');
  assert.equal(await child.exited, { code: 0, signal: null }, child.output.stderr);
});

test('a public address without TLS is refused, and so are a certificate without its key and files that are not there', async () => {
  for (const [args, expected] of [
    [['--host', '0.0.0.0'], /plain text/],
    [['--tls-cert', cert], /given together/],
    [['--tls-cert', path.join(folder, 'absent'), '--tls-key', keyFile], /cannot be read/],
  ] as const) {
    const { code, stderr } = await runCli(['cloud', 'start', '--port', '0', ...args], variables);
    assert.is(code, 2, stderr);
    assert.match(stderr, expected);
  }
});

test.run();
