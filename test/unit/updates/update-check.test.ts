// The check for newer versions: its requests, and the versions that it reports.
import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { updateLine } from '../../../ts/cli/output/update-line.js';
import { NPM_KEYS, publishedVersion, sourceOf } from '../../../ts/updates/published-version.js';
import { newerVersion } from '../../../ts/updates/update-check.js';

const test = suite('unit: update check');
const own = { name: 'chasqui', version: '0.9.1', repository: { url: 'git+https://github.com/someone/chasqui.git' } };
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keys = { 'SHA256:test': publicKey.export({ format: 'der', type: 'spki' }).toString('base64') };
const folder = mkdtempSync(path.join(tmpdir(), 'chasqui-updates-'));
const DAY_MS = 86_400_000;

/** The reply of the registry, and the requests so far. */
let reply: (request: http.IncomingMessage, response: http.ServerResponse) => void;
const asked: http.IncomingMessage[] = [];
const server = http.createServer((request, response) => {
  asked.push(request);
  reply(request, response);
});
let registry: URL;

test.before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  registry = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/npm/`);
});

test.before.each(() => {
  asked.length = 0;
});

test.after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

function manifest(version: string, changes: object = {}) {
  return { ...own, version, dist: { integrity: `sha512-${version}` }, ...changes };
}

function signed(version: string, text = `chasqui@${version}:sha512-${version}`, keyid = 'SHA256:test') {
  const sig = sign('sha256', Buffer.from(text), privateKey).toString('base64');
  return manifest(version, { dist: { integrity: `sha512-${version}`, signatures: [{ keyid, sig }] } });
}

const json = (value: unknown) => {
  reply = (_request, response) => response.end(JSON.stringify(value));
};

const published = () => publishedVersion(own, registry, keys);

/** npm reads its settings from these variables first. */
const environment = (variables: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  CI: '',
  HOME: folder,
  npm_config_registry: registry.href,
  npm_config_offline: 'false',
  npm_config_update_notifier: 'true',
  ...variables,
});

test('a signed version is reported as such, one without a known signature without a command', async () => {
  json(signed('1.0.0'));
  const found = await published();
  assert.equal(found, { version: '1.0.0', isSigned: true });
  assert.match(updateLine(found as NonNullable<typeof found>), /npm install -g chasqui@1\.0\.0$/);
  for (const each of [
    manifest('1.0.0'),
    signed('1.0.0', undefined, 'SHA256:unknown'),
    signed('1.0.0', '', 'toString'),
  ]) {
    json(each);
    const unsigned = await published();
    assert.equal(unsigned, { version: '1.0.0', isSigned: false });
    assert.not.match(updateLine(unsigned as NonNullable<typeof unsigned>), /npm install/);
  }
});

test('an invalid signature, a foreign package and other replies are not reported', async () => {
  const replies: unknown[] = [
    signed('1.0.0', 'chasqui@0.9.9:sha512-1.0.0'),
    signed('1.0.0', 'chasqui@1.0.0:sha512-other'),
    manifest('1.0.0', { dist: { integrity: 'sha512-1.0.0', signatures: [{ keyid: 'SHA256:test' }] } }),
    manifest('1.0.0', { repository: undefined }),
    manifest('1.0.0', { repository: { url: 'git+https://github.com/other/chasqui.git' } }),
    manifest('1.0.0', { repository: { url: 'https://github.com.example/someone/chasqui' } }),
    manifest('1.0.0', { name: 'other' }),
    ...['1.0.0-beta.1', 'v1.0.0', '1.0', '1.0.0\u001b[31m', `${'9'.repeat(400)}.0.0`, ''].map((each) => manifest(each)),
    null,
    [],
    'text',
  ];
  for (const each of replies) {
    json(each);
    assert.is(await published(), null, JSON.stringify(each));
  }
  reply = (_request, response) => response.writeHead(404).end('{}');
  assert.is(await published(), null);
  reply = (_request, response) => response.writeHead(302, { location: '/npm/chasqui/latest' }).end();
  assert.is(await published(), null);
  assert.is(asked.filter(({ url }) => url === '/npm/chasqui/latest').length, asked.length);
});

test('a reply without end is cut off', async () => {
  let closed: Promise<unknown> = Promise.resolve();
  reply = (_request, response) => {
    closed = new Promise((resolve) => response.once('close', resolve));
    const write = () => {
      while (response.write('x'.repeat(2 ** 14)) && !response.destroyed);
    };
    response.on('drain', write);
    write();
  };
  assert.is(await published(), null);
  await closed;
});

test('a request has no credentials and nothing about the user', async () => {
  json(manifest('1.0.0'));
  await published();
  const [{ url, headers } = {} as http.IncomingMessage] = asked;
  assert.is(url, '/npm/chasqui/latest');
  assert.equal(Object.keys(headers).sort(), ['accept', 'connection', 'host']);
});

test('there is one request a day, also after a failure, and a version is reported until it is installed', async () => {
  const place = mkdtempSync(path.join(folder, 'b'));
  const check = { folder: place, environment: environment(), own, keys };
  json(signed('1.2.0'));
  const now = Date.now();
  assert.is((await newerVersion(check, now))?.version, '1.2.0');
  assert.is((await newerVersion(check, now + DAY_MS - 1))?.version, '1.2.0');
  assert.is(asked.length, 1);
  for (const version of ['1.2.0', '1.10.0', '2.0.0']) {
    assert.is(await newerVersion({ ...check, own: { ...own, version } }, now), null, version);
  }
  reply = (_request, response) => response.destroy();
  assert.is(await newerVersion(check, now + DAY_MS), null);
  assert.is((await newerVersion(check, now + DAY_MS + 1))?.version, '1.2.0');
  assert.is(asked.length, 2);
  writeFileSync(path.join(place, 'update-check.json'), '{"checkedAt": "x", "found": 5');
  json(manifest('1.3.0'));
  assert.is((await newerVersion(check, now))?.version, '1.3.0');
  assert.equal(JSON.parse(readFileSync(path.join(place, 'update-check.json'), 'utf8')).checkedAt, now);
});

test('it is off in CI, offline, where npm reports no updates, without npm, and for a package without a source', async () => {
  json(manifest('9.0.0'));
  const off: NodeJS.ProcessEnv[] = [
    { CI: 'true' },
    { npm_config_offline: 'true' },
    { npm_config_update_notifier: 'false' },
    { PATH: folder },
    { npm_config_registry: registry.href.replace('//', '//user:secret@') },
  ];
  for (const variables of off) {
    const check = { folder: mkdtempSync(path.join(folder, 'c')), environment: environment(variables), own };
    assert.is(await newerVersion(check), null, JSON.stringify(variables));
  }
  const { repository: _, ...unnamed } = own;
  assert.is(await newerVersion({ folder, environment: environment(), own: unnamed }), null);
  assert.equal(asked, []);
});

test('a folder that cannot be written means no request', async () => {
  json(manifest('9.0.0'));
  const file = path.join(folder, 'file');
  writeFileSync(file, '');
  assert.is(await newerVersion({ folder: path.join(file, 'below'), environment: environment(), own }), null);
  assert.equal(asked, []);
});

test('sources are compared by host and path', () => {
  const same = [
    'https://github.com/a/b',
    'git+ssh://git@github.com/a/b.git',
    'git://github.com/A/b/',
    'github:a/b',
    'a/b',
  ];
  for (const each of same) assert.is(sourceOf({ url: each }), 'github.com/a/b', each);
  for (const each of [undefined, null, 5, '', 'https://', { url: 5 }]) assert.is(sourceOf(each), null);
});

test('the key of npm is a key', async () => {
  json(signed('1.0.0', undefined, Object.keys(NPM_KEYS)[0]));
  assert.is(await publishedVersion(own, registry), null);
});

test.run();
