import type dns from 'node:dns';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type FetchOptions, fetchImage, parseAddress } from '../../../ts/images/fetch-image.js';
import { ImageError } from '../../../ts/images/image-error.js';
import { picture } from '../../support/image-files.js';
import {
  endless,
  hops,
  type ImageServer,
  imageServer,
  redirect,
  silence,
  trickle,
} from '../../support/image-server.js';
import { until } from '../../support/until.js';

const test = suite<{ server: ImageServer }>('unit: pictures fetched');

const UNREACHABLE = /its address must answer within 10 seconds, and addresses in private networks are refused/;

test.before(async (context) => {
  context.server = await imageServer({
    '/hops': hops,
    '/loop': redirect('/loop'),
    '/seeother': redirect('/png', 303),
    '/nowhere': redirect('http://'),
    '/file': redirect('file:///etc/passwd'),
    '/secret': redirect('http://user:word@127.0.0.1/'),
    '/metadata': redirect('http://169.254.169.254/latest/meta-data/'),
    '/private': redirect('http://10.0.0.1/'),
    '/silence': silence,
    '/endless': endless,
    '/trickle': trickle,
    '/lengthy': (_, response) => response.writeHead(200, { 'content-length': 30_000_000 }).flushHeaders(),
    '/short': (_, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('half of it');
      setTimeout(() => response.destroy(), 20);
    },
    '/headers': (_, response) => response.writeHead(200, { x: 'y'.repeat(20_000) }).end(),
    '/error': (_, response) => response.writeHead(503).end('busy'),
    '/headless': (_, response) => response.writeHead(302).end(),
  });
});

test.after(({ server }) => server.close());

const { signal } = new AbortController();

function get(url: string, options: Partial<FetchOptions> = {}): Promise<Uint8Array> {
  return fetchImage(parseAddress(url), { hosts: 'loopback', signal, ...options });
}

async function faultOf(promise: Promise<unknown>): Promise<ImageError> {
  const thrown = await promise.then(
    () => assert.unreachable('It was fetched.'),
    (error: unknown) => error,
  );
  if (!(thrown instanceof ImageError)) throw thrown;
  return thrown;
}

test('the bytes at an address', async ({ server }) => {
  assert.equal(Buffer.from(await get(`${server.url}/png`)), await picture('png'));
  assert.equal(Buffer.from(await get(`${server.url}/seeother`)), await picture('png'));
});

test('three redirects and no more', async ({ server }) => {
  assert.equal(Buffer.from(await get(`${server.url}/hops/3`)), await picture('png'));
  for (const path of ['/hops/4', '/loop']) {
    const fault = await faultOf(get(`${server.url}${path}`));
    assert.is(fault.code, 'image_download_failed');
    assert.match(fault.message, /redirected more than 3 times/);
  }
});

for (const [path, says] of [
  ['/absent', /status 404/],
  ['/error', /status 503/],
  ['/headless', /status 302/],
  ['/nowhere', /redirected to what is no open http/],
  ['/file', /redirected to what is no open http/],
  ['/secret', /redirected to what is no open http/],
  ['/metadata', UNREACHABLE],
  ['/private', UNREACHABLE],
  ['/headers', UNREACHABLE],
  ['/short', UNREACHABLE],
] as const) {
  test(`${path} is no picture`, async ({ server }) => {
    const fault = await faultOf(get(`${server.url}${path}`));
    assert.is(fault.code, 'image_download_failed');
    assert.match(fault.message, says);
    assert.not.match(fault.message, /169\.254|10\.0|127\.0/);
  });
}

for (const path of ['/silence', '/trickle']) {
  test(`${path} ends with the time`, async ({ server }) => {
    assert.match((await faultOf(get(`${server.url}${path}`, { timeoutMs: 300 }))).message, UNREACHABLE);
    await until(async () => (await server.connections()) === 0, 'the connection is closed');
  });
}

for (const path of ['/endless', '/lengthy']) {
  test(`${path} ends with the size`, async ({ server }) => {
    const fault = await faultOf(get(`${server.url}${path}`));
    assert.is(fault.code, 'image_too_large');
    await until(async () => (await server.connections()) === 0, 'the connection is closed');
  });
}

test('a caller that goes away ends the download', async ({ server }) => {
  const reason = new Error('gone');
  const controller = new AbortController();
  const download = get(`${server.url}/silence`, { signal: controller.signal });
  await until(() => server.seen.at(-1) === '/silence', 'the request arrives');
  controller.abort(reason);
  assert.is(await download.catch((error) => error), reason);
  await until(async () => (await server.connections()) === 0, 'the connection is closed');
});

test('addresses that are none', async () => {
  for (const text of [
    '',
    'cat.png',
    '/cat.png',
    'ftp://x/y',
    'file:///x',
    'javascript:1',
    'http://',
    `http://x/${'y'.repeat(9000)}`,
  ]) {
    assert.throws(
      () => parseAddress(text),
      (fault: unknown) => fault instanceof ImageError && /must be an http/.test(fault.message),
    );
  }
  for (const text of ['http://user@x/', 'https://user:word@x/', 'https://:word@x/']) {
    assert.throws(
      () => parseAddress(text),
      (fault: unknown) => fault instanceof ImageError && !/word@|user/.test(fault.message),
    );
  }
});

const SPELLINGS = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  'localhost',
];

test('loopback is refused where only public addresses are allowed, however it is spelt', async ({ server }) => {
  const before = server.seen.length;
  for (const host of SPELLINGS) {
    const fault = await faultOf(get(`http://${host}:${server.port}/png`, { hosts: 'public' }));
    assert.match(fault.message, UNREACHABLE, host);
  }
  assert.is(server.seen.length, before);
});

const named = (...addresses: string[]) => ({
  resolve: async (): Promise<dns.LookupAddress[]> =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
});

test('a name is what it resolves to', async ({ server }) => {
  const url = `http://pictures.example:${server.port}/png`;
  const before = server.seen.length;
  for (const address of ['127.0.0.1', '169.254.169.254', '10.1.2.3', '::1', 'fd00:ec2::254', '::ffff:127.0.0.1']) {
    const fault = await faultOf(get(url, { hosts: 'public', ...named(address) }));
    assert.match(fault.message, UNREACHABLE, address);
    assert.not.ok(fault.message.includes(address));
  }
  assert.match((await faultOf(get(url, named()))).message, UNREACHABLE);
  assert.is(server.seen.length, before);
  assert.equal(Buffer.from(await get(url, { hosts: 'any', ...named('127.0.0.1') })), await picture('png'));
});

test('where this machine may be named, neither a public name nor a redirect leads to it', async ({ server }) => {
  const before = server.seen.length;
  for (const address of ['127.0.0.1', '::1']) {
    const fault = await faultOf(get(`http://pictures.example:${server.port}/png`, named(address)));
    assert.match(fault.message, UNREACHABLE, address);
  }
  assert.is(server.seen.length, before);
  // A stand-in for a public server: it answers at an address that is allowed only because it is named.
  const inside = await imageServer({ '/away': redirect(`http://inner.example:${server.port}/png`) });
  try {
    const fault = await faultOf(get(`${inside.url}/away`, named('127.0.0.1')));
    assert.match(fault.message, UNREACHABLE);
    assert.is(server.seen.length, before);
    assert.equal(inside.seen, ['/away']);
  } finally {
    await inside.close();
  }
});

test('this machine’s own servers may lead to each other', async ({ server }) => {
  const other = await imageServer({ '/away': redirect(`http://localhost:${server.port}/png`) });
  try {
    assert.equal(Buffer.from(await get(`${other.url}/away`)), await picture('png'));
  } finally {
    await other.close();
  }
});

test('only the allowed addresses of a host are tried', async ({ server }) => {
  const url = `http://pictures.localhost:${server.port}/png`;
  assert.equal(Buffer.from(await get(url, named('169.254.169.254', '10.0.0.1', '127.0.0.1'))), await picture('png'));
});

test('a name that resolves differently the next time gains nothing', async ({ server }) => {
  const before = server.seen.length;
  let asked = 0;
  const resolve = async () => {
    asked += 1;
    return [{ address: asked === 1 ? '192.0.2.1' : '127.0.0.1', family: 4 }];
  };
  const url = `http://pictures.example:${server.port}/png`;
  assert.match((await faultOf(get(url, { hosts: 'public', resolve }))).message, UNREACHABLE);
  assert.equal([asked, server.seen.length], [1, before]);
});

test('each redirect is resolved and checked anew', async ({ server }) => {
  const target = await imageServer({ '/away': redirect(`http://inner.example:${server.port}/png`) });
  const asked: string[] = [];
  const resolve = async (hostname: string) => {
    asked.push(hostname);
    return [{ address: hostname === 'inner.example' ? '10.0.0.1' : '127.0.0.1', family: 4 }];
  };
  try {
    const before = server.seen.length;
    const fault = await faultOf(get(`http://outer.localhost:${target.port}/away`, { resolve }));
    assert.match(fault.message, UNREACHABLE);
    assert.equal([asked, server.seen.length], [['outer.localhost', 'inner.example'], before]);
  } finally {
    await target.close();
  }
});

test('names that do not exist, ports where nobody listens and refused addresses are told alike', async ({ server }) => {
  const messages = new Set<string>();
  for (const [url, options] of [
    ['http://127.0.0.1:1/', {}],
    ['http://10.0.0.1/', {}],
    ['http://[fe80::1]/', {}],
    [`http://x.example:${server.port}/`, named('192.168.0.1')],
    ['http://x.example/', { resolve: () => Promise.reject(new Error('ENOTFOUND')) }],
    [`${server.url}/silence`, { timeoutMs: 100 }],
  ] as const) {
    messages.add((await faultOf(get(url, options))).message);
  }
  assert.is(messages.size, 1, [...messages].join('\n'));
});

test('private hosts, where they are allowed', async ({ server }) => {
  const url = `http://localhost:${server.port}/png`;
  assert.equal(Buffer.from(await get(url, { hosts: 'any' })), await picture('png'));
  const mapped = `http://[::ffff:127.0.0.1]:${server.port}/png`;
  assert.equal(Buffer.from(await get(mapped, { hosts: 'any' })), await picture('png'));
});

test('no cookies, no compression, no referrer', async () => {
  let headers: Record<string, unknown> = {};
  const server = await imageServer({
    '/headers': (request, response) => {
      headers = request.headers;
      response.end('x');
    },
  });
  try {
    await get(`${server.url}/headers`);
    assert.equal(Object.keys(headers).sort(), ['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
    assert.is(headers['accept-encoding'], 'identity');
  } finally {
    await server.close();
  }
});

test.run();
