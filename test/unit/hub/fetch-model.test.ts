import { pbkdf2 } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../../ts/errors.js';
import { fetchModel } from '../../../ts/hub/fetch-model.js';
import { demoModelPath } from '../../support/demo-model.js';

const MODEL = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(300_000, 7)]);
/** What Linux keeps in a huge page. */
const BLOCK_BYTES = 2 ** 21;
const LARGE_MODEL = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(2 * BLOCK_BYTES + 1000, 7)]);

interface Context {
  folder: string;
  base: string;
  asked: string[];
  server: http.Server;
}

const test = suite<Context>('unit: fetching a model');

test.before.each(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-fetch-'));
  context.asked = [];
  context.server = http.createServer((request, response) => {
    context.asked.push(request.url ?? '');
    answer(request.url ?? '', response);
  });
  await new Promise<void>((resolve) => context.server.listen(0, '127.0.0.1', resolve));
  context.base = `http://127.0.0.1:${(context.server.address() as AddressInfo).port}`;
});

test.after.each(({ folder, server }) => {
  fs.rmSync(folder, { recursive: true });
  server.closeAllConnections();
  server.close();
});

function answer(url: string, response: http.ServerResponse): void {
  if (url.startsWith('/away/')) response.writeHead(302, { location: 'http://169.254.169.254/secret' }).end();
  else if (url.startsWith('/loop/')) response.writeHead(302, { location: url }).end();
  else if (url.startsWith('/file/')) response.writeHead(302, { location: 'file:///etc/passwd' }).end();
  else if (url.startsWith('/moved/')) response.writeHead(302, { location: '/a/model.gguf' }).end();
  else if (url.startsWith('/page/')) response.end('<!doctype html>');
  else if (url.startsWith('/cut/')) {
    response.writeHead(200, { 'content-length': MODEL.length });
    response.write(MODEL.subarray(0, 1000), () => response.destroy());
  } else if (url.startsWith('/slow/')) response.write(MODEL.subarray(0, 1000));
  else if (url.startsWith('/unsaid/')) {
    for (let sent = 0; sent < MODEL.length; sent += 1000) response.write(MODEL.subarray(sent, sent + 1000));
    response.end();
  } else if (/^\/(demo|half)\//.test(url)) {
    const demo = fs.readFileSync(demoModelPath);
    const sent = demo.subarray(0, url.startsWith('/half/') ? demo.length / 2 : demo.length);
    response.writeHead(200, { 'content-length': sent.length }).end(sent);
  } else if (url.startsWith('/large/')) response.end(LARGE_MODEL);
  else if (url.startsWith('/none/')) response.writeHead(404).end('GGUF');
  else response.writeHead(200, { 'content-length': MODEL.length }).end(MODEL);
}

async function failure(promise: Promise<unknown>): Promise<ChasquiError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof ChasquiError) return error;
    throw error;
  }
  throw new Error('it was fetched');
}

function filesIn(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}

test('a file is fetched once, and says how far it has come', async ({ folder, base, asked }) => {
  const seen: number[] = [];
  const file = await fetchModel(`${base}/a/model.gguf`, folder, { onProgress: (fraction) => seen.push(fraction) });
  assert.is(path.basename(file), 'model.gguf');
  assert.ok(fs.readFileSync(file).equals(MODEL));
  assert.is(seen.at(-1), 1);
  assert.is(await fetchModel(`${base}/a/model.gguf`, folder), file);
  assert.equal(asked, ['/a/model.gguf']);
});

test('a truncated file is refused, and fetched again where it was kept', async ({ folder, base, asked }) => {
  const whole = fs.readFileSync(demoModelPath);
  const url = `${base}/demo/model.gguf`;
  const file = await fetchModel(url, folder);
  for (const length of [whole.length - 1, whole.length / 2, 5000, 30]) {
    fs.truncateSync(file, Math.floor(length));
    assert.is(await fetchModel(url, folder), file);
    assert.ok(fs.readFileSync(file).equals(whole), String(length));
  }
  assert.is(asked.length, 5);
  const error = await failure(fetchModel(`${base}/half/model.gguf`, folder));
  assert.match(error.message, /lacks a part of its weights/);
  assert.equal(filesIn(folder), ['model.gguf']);
});

test('where the server does not say how long it is, what has come is said', async ({ folder, base }) => {
  const seen: [number, number][] = [];
  const file = await fetchModel(`${base}/unsaid/model.gguf`, folder, {
    onProgress: (fraction, bytes) => seen.push([fraction, bytes]),
  });
  assert.ok(fs.readFileSync(file).equals(MODEL));
  assert.equal(seen.at(-1), [0, MODEL.length]);
});

test('a file is written by blocks that huge pages hold', async ({ folder, base }) => {
  const lengths: number[] = [];
  const { open } = fs.promises;
  fs.promises.open = async (...args) => {
    const handle = await open(...args);
    const write = handle.write.bind(handle) as (...of: unknown[]) => Promise<{ bytesWritten: number }>;
    handle.write = (async (...of: unknown[]) => {
      const written = await write(...of);
      lengths.push(written.bytesWritten);
      return written;
    }) as typeof handle.write;
    return handle;
  };
  try {
    const file = await fetchModel(`${base}/large/model.gguf`, folder);
    assert.ok(fs.readFileSync(file).equals(LARGE_MODEL));
  } finally {
    fs.promises.open = open;
  }
  assert.equal(lengths, [BLOCK_BYTES, BLOCK_BYTES, LARGE_MODEL.length - 2 * BLOCK_BYTES]);
});

test('a file has its name only when all its bytes are on the disk, and then the name is', async ({ folder, base }) => {
  const flushed: { isFolder: boolean; size: number; names: string[] }[] = [];
  const { open } = fs.promises;
  fs.promises.open = async (...args) => {
    const handle = await open(...args);
    const sync = handle.sync.bind(handle);
    handle.sync = async () => {
      await sync();
      const stat = await handle.stat();
      const names = filesIn(folder).map((name) => path.extname(name));
      flushed.push({ isFolder: stat.isDirectory(), size: stat.isDirectory() ? 0 : stat.size, names });
    };
    return handle;
  };
  try {
    await fetchModel(`${base}/large/model.gguf`, folder);
  } finally {
    fs.promises.open = open;
  }
  assert.equal(flushed, [
    { isFolder: false, size: LARGE_MODEL.length, names: ['.part'] },
    { isFolder: true, size: 0, names: ['.gguf'] },
  ]);
});

test('room is asked for, and nothing is kept without it', async ({ folder, base }) => {
  const asked: number[] = [];
  const checkRoom = (bytes: number): void => {
    asked.push(bytes);
    throw new ChasquiError('no_space', 'full');
  };
  assert.is((await failure(fetchModel(`${base}/a/model.gguf`, folder, { checkRoom }))).code, 'no_space');
  assert.ok((asked[0] ?? 0) > MODEL.length / 2, String(asked));
  assert.is((await failure(fetchModel(`${base}/unsaid/model.gguf`, folder, { checkRoom }))).code, 'no_space');
  assert.equal(asked.slice(1), [0]);
  assert.equal(filesIn(folder), []);
});

test('files of the same name from other places are others', async ({ folder, base }) => {
  const one = await fetchModel(`${base}/a/model.gguf`, folder);
  const other = await fetchModel(`${base}/b/model.gguf?download=true`, folder);
  assert.is.not(one, other);
});

test('redirects are followed', async ({ folder, base }) => {
  const file = await fetchModel(`${base}/moved/small.gguf`, folder);
  assert.is(path.basename(file), 'small.gguf');
  assert.is(fs.statSync(file).size, MODEL.length);
});

for (const [where, says] of [
  ['/none/model.gguf', /answered 404/],
  ['/page/model.gguf', /not a GGUF file/],
  ['/cut/model.gguf', /from .*cut\/model\.gguf: /],
] as const) {
  test(`nothing is kept of what is no complete model: ${where}`, async ({ folder, base }) => {
    const error = await failure(fetchModel(base + where, folder));
    assert.is(error.code, 'model_fetch_failed');
    assert.match(error.message, says);
    assert.equal(filesIn(folder), []);
  });
}

test('nothing is kept either where the file system is slow', async ({ folder, base }) => {
  // Files are opened on libuv's thread pool; this keeps its threads busy until the download has failed.
  const hash = promisify(pbkdf2);
  const busy = Array.from({ length: 16 }, () => hash('password', 'salt', 30_000, 64, 'sha512'));
  await failure(fetchModel(`${base}/cut/model.gguf`, folder));
  await Promise.all(busy);
  await setImmediate();
  assert.equal(filesIn(folder), []);
});

test('an address that nobody listens at', async ({ folder }) => {
  assert.match((await failure(fetchModel('http://127.0.0.1:9/model.gguf', folder))).message, /ECONNREFUSED|bad port/);
});

for (const url of ['model.gguf', 'file:///model.gguf', 'https://a.example/model.bin', 'https://a.example/']) {
  test(`no address of a model: ${url}`, async ({ folder }) => {
    assert.match((await failure(fetchModel(url, folder))).message, /must start with https/);
  });
}

for (const name of ['127.0.0.1', 'localhost']) {
  test(`who may fetch from public addresses alone reaches no other, and does not ask it: ${name}`, async (context) => {
    const url = `${context.base.replace('127.0.0.1', name)}/a/model.gguf`;
    const { code, message } = await failure(fetchModel(url, context.folder, { hosts: 'public' }));
    assert.is(code, 'model_fetch_failed');
    assert.match(message, /no address that may be connected to; private network .*`allowPrivateModelHosts`/);
    assert.equal(context.asked, []);
    assert.equal(filesIn(context.folder), []);
  });
}

for (const [where, says] of [
  ['/away/model.gguf', /no address that may be connected to/],
  ['/loop/model.gguf', /redirected more than 20 times/],
  ['/file/model.gguf', /redirected to what is no open http or https address/],
  ['/none/model.gguf', /answered 404/],
  ['/cut/model.gguf', /from .*cut\/model\.gguf: /],
] as const) {
  test(`addresses are checked after redirects as well, and nothing is kept: ${where}`, async ({ folder, base }) => {
    const { code, message } = await failure(fetchModel(base + where, folder, { hosts: 'loopback' }));
    assert.is(code, 'model_fetch_failed');
    assert.match(message, says);
    assert.equal(filesIn(folder), []);
  });
}

test('where addresses are checked, a model comes from one that is allowed', async ({ folder, base }) => {
  const file = await fetchModel(`${base}/moved/small.gguf`, folder, { hosts: 'loopback' });
  assert.ok(fs.readFileSync(file).equals(MODEL));
});

test('where addresses are checked, a fetch can be stopped as well', async ({ folder, base }) => {
  const stop = new AbortController();
  const checkRoom = () => stop.abort(new Error('enough'));
  const fetching = fetchModel(`${base}/slow/model.gguf`, folder, { hosts: 'loopback', signal: stop.signal, checkRoom });
  await fetching.then(assert.unreachable, (error) => assert.match(error.message, /enough/));
  assert.equal(filesIn(folder), []);
});

test('a part of a model is refused, and what may be secret in its address is not said', async ({ folder }) => {
  const url = 'https://a.example/model-00001-of-00003.gguf?signature=secret';
  const { message } = await failure(fetchModel(url, folder));
  assert.match(message, /model-00001-of-00003\.gguf.*split models/);
  assert.not.match(message, /secret/);
});

test('a folder that cannot be made', async ({ folder, base }) => {
  fs.writeFileSync(path.join(folder, 'taken'), '');
  const { code, message } = await failure(fetchModel(`${base}/a/model.gguf`, path.join(folder, 'taken')));
  assert.is(code, 'model_fetch_failed');
  assert.match(message, /ENOTDIR|EEXIST/);
});

test('it can be stopped, and leaves nothing behind', async ({ folder, base }) => {
  const stop = new AbortController();
  const fetching = fetchModel(`${base}/slow/model.gguf`, folder, { signal: stop.signal });
  setTimeout(() => stop.abort(new Error('enough')), 50);
  await fetching.then(assert.unreachable, (error) => assert.match(error.message, /enough/));
  assert.equal(filesIn(folder), []);
});

test.run();
