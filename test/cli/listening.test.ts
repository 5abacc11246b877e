// How `chasqui serve` can be reached: with keys, by TLS, on a Unix socket, under several names.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callCli } from '../support/call-cli.js';
import { runCli, startChild, untilWritten } from '../support/child.js';

const test = suite('cli: how a server is reached');

const folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-listening-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

type Child = ReturnType<typeof startChild>;

async function serve(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<{ child: Child; line: string }> {
  const child = startChild('ts/cli.ts', ['serve', '--ctx-size', '256', '--threads', '1', ...args], env);
  const [line = ''] = await untilWritten(child, /^Serving .*$/m);
  await untilWritten(child, /^ {2}curl .*$/m);
  return { child, line };
}

async function stop({ process, exited, output }: Child, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  process.kill(signal);
  const { code } = await exited;
  if (signal === 'SIGTERM') assert.is(code, 0, output.stderr);
}

async function expectRefused(url: string): Promise<void> {
  const error = await fetch(url).catch((thrown) => thrown);
  assert.is(error.cause?.code, 'ECONNREFUSED');
}

/** Status and body of `GET url`. */
function get(options: https.RequestOptions, from: typeof http | typeof https = http): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    from
      .get(options, (reply) => {
        let body = '';
        reply.setEncoding('utf8').on('data', (data) => (body += data));
        reply.on('end', () => resolve([reply.statusCode ?? 0, body]));
      })
      .on('error', reject);
  });
}

// Linux alone has all addresses of 127.0.0.0/8.
if (process.platform === 'linux') {
  test('it listens at several addresses, on one port, with the same keys', async () => {
    const args = ['--host', '127.0.0.2, 127.0.0.3', '--port', '0', '--api-key', 'first'];
    const { child, line } = await serve(args);
    const [, port] = /http:\/\/127\.0\.0\.2:(\d+)\/v1$/.exec(line) ?? [];
    for (const host of ['127.0.0.2', '127.0.0.3']) {
      const url = `http://${host}:${port}/v1/models`;
      assert.is((await fetch(url)).status, 401);
      assert.is((await fetch(url, { headers: { authorization: 'Bearer first' } })).status, 200);
    }
    await expectRefused(`http://127.0.0.1:${port}/health`);
    await stop(child);
    await expectRefused(`http://127.0.0.3:${port}/health`);
  });
}

test('keys of flags, of a file and of the environment open it, and the line to try says which header', async () => {
  const file = path.join(folder, 'keys');
  writeFileSync(file, 'third\n');
  const { child, line } = await serve([
    '--port',
    '0',
    '--api-key',
    'first,second',
    '--api-key',
    'other',
    '--api-key-file',
    file,
  ]);
  const [, url = ''] = /(http:\S+)\/v1$/.exec(line) ?? [];
  const status = async (headers: Record<string, string>) => (await fetch(`${url}/v1/models`, { headers })).status;
  assert.is(await status({}), 401);
  assert.is(await status({ authorization: 'Bearer fourth' }), 401);
  for (const key of ['first', 'second', 'other', 'third']) {
    assert.is(await status({ authorization: `Bearer ${key}` }), 200, key);
    assert.is(await status({ 'x-api-key': key }), 200, key);
  }
  assert.match(child.output.stdout, "-H 'Authorization: Bearer <API_KEY>'");
  assert.not.match(child.output.stdout + child.output.stderr, 'second');
  await stop(child);
});

test('a certificate makes it https', async () => {
  const [cert, key] = [path.join(folder, 'a.crt'), path.join(folder, 'a.key')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const curve = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', ...curve, '-out', cert, '-keyout', key, ...subject], { stdio: 'ignore' });
  const { child, line } = await serve(['--port', '0', '--tls-cert', cert, '--tls-key', key]);
  const [, port = ''] = / at https:\/\/127\.0\.0\.1:(\d+)\/v1$/.exec(line) ?? [];
  const [status, body] = await get({ port, host: '127.0.0.1', path: '/v1/models', rejectUnauthorized: false }, https);
  assert.is(status, 200);
  assert.is(JSON.parse(body).data[0].id, 'chasqui-demo');
  const plain = await get({ port, host: '127.0.0.1', path: '/v1/models' }).catch((error: Error) => error);
  assert.instance(plain, Error, 'plain HTTP gets nothing');
  await stop(child);
});

test('a Unix socket is for this account alone, is taken over from a server that was killed, and goes with its server', async () => {
  const socketPath = path.join(folder, 'chasqui.sock');
  for (const args of [
    ['--socket', socketPath],
    ['--host', `unix:${socketPath}`],
  ]) {
    const { child, line } = await serve(args);
    assert.match(line, `at http://localhost/v1 on the socket ${socketPath}`);
    assert.match(child.output.stdout, `curl --unix-socket '${socketPath}' http://localhost/v1/`);
    assert.is(statSync(socketPath).mode & 0o777, 0o600);
    const [status] = await get({ socketPath, path: '/v1/models', headers: { host: 'any.example' } });
    assert.is(status, 200);
    const second = await runCli(['serve', ...args]);
    assert.is(second.code, 2);
    assert.match(second.stderr, /--socket is .*, where another server listens; stop it or give another path/);
    await stop(child, args[0] === '--socket' ? 'SIGKILL' : 'SIGTERM');
  }
  assert.is(statSync(socketPath, { throwIfNoEntry: false }), undefined);
});

test('an existing file that is no socket is left alone', async () => {
  const file = path.join(folder, 'notes.txt');
  writeFileSync(file, 'mine');
  const { code, stderr } = await runCli(['serve', '--socket', file]);
  assert.is(code, 2);
  assert.match(stderr, /--socket is .*notes\.txt, which exists and is no socket/);
  assert.is(statSync(file).size, 4);
});

test('a model goes by all names that it is given, and replies have the first; its tags are listed', async () => {
  const { child, line } = await serve([
    '--port',
    '0',
    '--alias',
    'gpt-4o,small',
    '--alias',
    'demo',
    '--tags',
    'fim,small',
  ]);
  const [, url = ''] = / at (http:\S+)\/v1$/.exec(line) ?? [];
  assert.match(line, /^Serving gpt-4o at/);
  for (const model of ['gpt-4o', 'small', 'demo']) {
    const body = JSON.stringify({ model, max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] });
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
    assert.is(reply.status, 200, model);
    assert.is(((await reply.json()) as { model: string }).model, 'gpt-4o');
  }
  const models = await (await fetch(`${url}/v1/models`)).json();
  const [{ id, aliases, tags }] = (models as { data: [{ id: string; aliases: string[]; tags: string[] }] }).data;
  assert.equal([id, aliases, tags], ['gpt-4o', ['gpt-4o', 'small', 'demo'], ['fim', 'small']]);
  assert.is(((await (await fetch(`${url}/v1/models/small`)).json()) as { id: string }).id, 'gpt-4o');
  assert.is((await fetch(`${url}/v1/models/chasqui-demo`)).status, 404);
  await stop(child);
});

const REFUSED: [args: string[], says: RegExp][] = [
  [['--tls-cert', 'a.crt'], /--tls-cert and --tls-key are given together/],
  [['--tls-cert', '/nowhere.crt', '--tls-key', '/nowhere.key'], /--tls-cert cannot be read: ENOENT/],
  [['--api-key-file', '/nowhere'], /--api-key-file cannot be read: ENOENT/],
  [['--api-key', 'two words'], /--api-key has a key that is not 1 to 512/],
  [['--mode', 'serverless', '--api-key', 'x'], /--api-key and --api-key-file are for the local modes/],
  [['--socket', '/tmp/x.sock', '--port', '1'], /'-p, --port <n>' cannot be used with option '--socket <path>'/],
  [['--socket', `/tmp/${'x'.repeat(120)}`], /--socket is longer than 103 bytes/],
  [['--socket', '/nowhere/x.sock'], /--socket is \/nowhere\/x\.sock, which cannot be created/],
];

for (const [args, says] of REFUSED) {
  test(`refuses: ${args.join(' ').slice(0, 80)}`, async () => {
    const { code, stderr } = await callCli(['serve', ...args]);
    assert.is(code, 2);
    assert.match(stderr, says);
    assert.not.match(stderr, /^\s+at /m);
  });
}

test('a socket of another program that does not answer is not taken for a stale one', async () => {
  const socketPath = path.join(folder, 'other.sock');
  const other = net.createServer();
  await new Promise<void>((resolve) => other.listen(socketPath, resolve));
  const { code, stderr } = await runCli(['serve', '--socket', socketPath]);
  assert.is(code, 2);
  assert.match(stderr, /another server listens/);
  await new Promise((resolve) => other.close(resolve));
});

test.run();
