// Start Server and Stop Server: the port that clients know, opened and closed beside the app's own.
import net, { type AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cancelLoad } from '../support/cancel-load.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const server = suite('the server of the Developer view');
const MODEL = 'chasqui-demo';
let app: RunningDesktop;

server.before(async () => {
  app = await startDesktop();
});

server.after(async () => {
  await app.stop();
  removeFolder(app.folder);
});

const body = (fields: object = {}) => ({ model: 'x', messages: [{ role: 'user', content: 'Hi' }], ...fields });

function chat(address: string, fields: object = {}): Promise<Response> {
  return fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body(fields)),
  });
}

async function takenPort(): Promise<{ port: number; close(): void }> {
  const other = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  return { port: (other.address() as AddressInfo).port, close: () => other.close() };
}

server('a server that is started serves any model name, at both addresses of localhost', async () => {
  const started = await app.done('POST', '/api/v1/server/start', { model: MODEL, port: 0 });
  assert.is(started.state, 'running');
  assert.is(started.model, MODEL);
  assert.is(started.address, `http://localhost:${started.port}`);
  for (const host of ['127.0.0.1', '[::1]']) {
    const reply = await chat(`http://${host}:${started.port}`, { model: 'a nonsense name', max_tokens: 4 });
    assert.is(reply.status, 200);
    assert.is(((await reply.json()) as { model: string }).model, MODEL);
  }
});

server('it has none of the app: no management, no pages, no token', async () => {
  const { port } = (await app.done('GET', '/api/v1/state')).server;
  for (const path of ['/', '/api/v1/state', '/api/v1/events', '/app/v1/models']) {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`);
    const text = await reply.text();
    assert.not.match(text, /"settings"|<script/);
    assert.ok(path === '/' || reply.status === 404, path);
  }
});

server('a reply that runs when the server is stopped is finished, and new ones are refused', async () => {
  const { port } = (await app.done('GET', '/api/v1/state')).server;
  // Resolves with the first token.
  const running = await chat(`http://127.0.0.1:${port}`, { stream: true, max_tokens: 1500, ignore_eos: true });
  const text = running.text();
  const stopped = app.done('POST', '/api/v1/server/stop');
  assert.match(await text, /"finish_reason":"length"[\s\S]*data: \[DONE\]\n\n$/);
  assert.is((await stopped).state, 'stopped');
  const refused = await chat(`http://127.0.0.1:${port}`).catch((error: Error) => error);
  assert.instance(refused, Error);
});

server("the model stays loaded without the server, and the app's chat uses it", async () => {
  const { models, server: state } = await app.done('GET', '/api/v1/state');
  assert.is(state.state, 'stopped');
  assert.is(models[0].state, 'loaded');
  const reply = await app.done('POST', '/app/v1/chat/completions', body({ model: MODEL, max_tokens: 4 }));
  assert.is(reply.model, MODEL);
});

server('starts and stops that are asked for at the same time follow one another', async () => {
  const calls = Array.from({ length: 6 }, (_, index) =>
    index % 2 === 0
      ? app.api('POST', '/api/v1/server/start', { model: MODEL, port: 0 })
      : app.api('POST', '/api/v1/server/stop'),
  );
  const replies = await Promise.all(calls);
  assert.equal(
    replies.map(({ status }) => status),
    [200, 200, 200, 200, 200, 200],
  );
  const { port } = (await app.done('GET', '/api/v1/state')).server;
  assert.is((await app.done('POST', '/api/v1/server/stop')).state, 'stopped');
  assert.instance(await chat(`http://127.0.0.1:${port}`).catch((error: Error) => error), Error);
});

server('a stop gives up a start that still loads its model', async () => {
  const start = async () => {
    const { status, body: error } = await app.api('POST', '/api/v1/server/start', { model: MODEL, port: 0 });
    return status === 400 && error.error.code === 'request_cancelled';
  };
  await cancelLoad(app, MODEL, start, async () => {
    assert.is((await app.done('POST', '/api/v1/server/stop')).state, 'stopped');
  });
  await app.done('POST', '/api/v1/models/load', { model: MODEL });
});

server('a port that is taken is named with the program that has it and one that is free', async () => {
  const other = await takenPort();
  try {
    const { status, body: error } = await app.api('POST', '/api/v1/server/start', { model: MODEL, port: other.port });
    assert.is(status, 409);
    assert.is(error.error.code, 'port_in_use');
    assert.is(error.error.param, 'port');
    assert.match(error.error.message, new RegExp(`^Port ${other.port} is in use by .+ \\(process ${process.pid}\\)`));
    const [, free] = /Port (\d+) is free/.exec(error.error.message) ?? [];
    const started = await app.done('POST', '/api/v1/server/start', { model: MODEL, port: Number(free) });
    assert.is(started.port, Number(free));
    await app.done('POST', '/api/v1/server/stop');
  } finally {
    other.close();
  }
  const { server: state } = await app.done('GET', '/api/v1/state');
  assert.is(state.error, null);
});

server('a model that is not there starts no server', async () => {
  const { status, body: error } = await app.api('POST', '/api/v1/server/start', { model: 'none', port: 0 });
  assert.is(status, 404);
  assert.is(error.error.code, 'model_not_found');
  assert.is((await app.done('GET', '/api/v1/state')).server.state, 'stopped');
});

server('a start that fails leaves a server that runs as it is', async () => {
  const { address } = await app.done('POST', '/api/v1/server/start', { model: MODEL, port: 0 });
  assert.is((await app.api('POST', '/api/v1/server/start', { model: 'none', port: 0 })).status, 404);
  const { server: state } = await app.done('GET', '/api/v1/state');
  assert.equal([state.state, state.address, state.model], ['running', address, MODEL]);
  assert.match(state.error, /none/);
  assert.is((await chat(address, { max_tokens: 2 })).status, 200);
  await app.done('POST', '/api/v1/server/stop');
});

server('a port and a body that make no sense are refused with the name of the field', async () => {
  for (const [fields, param, code] of [
    [{ model: MODEL, port: 70_000 }, 'port', 'invalid_value'],
    [{ model: MODEL, port: '1234' }, 'port', 'invalid_type'],
    [{ port: 0 }, 'model', 'missing_required_parameter'],
    [{ model: '' }, 'model', 'invalid_value'],
  ] as const) {
    const { status, body: error } = await app.api('POST', '/api/v1/server/start', fields);
    assert.is(status, 400);
    assert.equal([error.error.param, error.error.code], [param, code]);
  }
});

server('with an API key, clients need it from the next start on, and it is shown to nobody', async () => {
  const key = 'sk-of-this-computer';
  await app.done('POST', '/api/v1/server/stop');
  for (const wrong of ['', 'two words', 7]) {
    assert.is((await app.api('PUT', '/api/v1/settings', { serverKey: wrong })).status, 400, String(wrong));
  }
  const settings = await app.done('PUT', '/api/v1/settings', { serverKey: key });
  assert.ok(settings.hasServerKey);
  assert.not.match(JSON.stringify(settings), new RegExp(key));
  const { port } = await app.done('POST', '/api/v1/server/start', { model: MODEL, port: 0 });
  const ask = (headers: Record<string, string>) => fetch(`http://127.0.0.1:${port}/v1/models`, { headers });
  assert.is((await ask({})).status, 401);
  assert.is((await ask({ authorization: 'Bearer another' })).status, 401);
  assert.is((await ask({ authorization: `Bearer ${key}` })).status, 200);
  // The app's own chat goes by the app's token.
  const own = { model: MODEL, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2 };
  assert.is((await app.api('POST', '/app/v1/chat/completions', own)).status, 200);
  await app.done('POST', '/api/v1/server/stop');
  assert.not.ok((await app.done('PUT', '/api/v1/settings', { serverKey: null })).hasServerKey);
  const open = await app.done('POST', '/api/v1/server/start', { model: MODEL, port: 0 });
  assert.is((await fetch(`http://127.0.0.1:${open.port}/v1/models`)).status, 200);
  await app.done('POST', '/api/v1/server/stop');
});

server.run();
