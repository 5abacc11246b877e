// The server listens before its model is loaded. The loading process is stopped with SIGSTOP meanwhile.
import process from 'node:process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, startChild, untilWritten } from '../support/child.js';
import { untilEngineOf } from '../support/engine-process.js';
import { freePort } from '../support/free-port.js';
import { readJson } from '../support/read-json.js';
import { until } from '../support/until.js';

const test = suite('faults: a server that loads its model');

interface Loading {
  server: Child;
  url: string;
  engine: number;
}

async function serveHeld(): Promise<Loading> {
  const port = await freePort();
  const server = startChild('ts/cli.ts', ['serve', '--port', String(port), '--ctx-size', '512', '--threads', '1']);
  const engine = await untilEngineOf(server.process.pid as number);
  process.kill(engine, 'SIGSTOP');
  const url = `http://127.0.0.1:${port}`;
  // A server that replies has installed its signal handlers.
  await until(
    () =>
      fetch(`${url}/live`).then(
        ({ ok }) => ok,
        () => false,
      ),
    'it listens',
  );
  return { server, url, engine };
}

function ask(url: string): Promise<Response> {
  const body = JSON.stringify({ model: 'chasqui-demo', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 3 });
  return fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
}

test('it listens, says that it loads, and says so again when it serves', async () => {
  const { server, url, engine } = await serveHeld();
  try {
    assert.is((await fetch(`${url}/live`)).status, 200);
    for (const path of ['/health', '/ready']) {
      const reply = await fetch(url + path);
      assert.is(reply.status, 503);
      const { error } = await readJson(reply);
      assert.is(error.code, 'model_loading');
      assert.match(error.message, /`chasqui-demo` is being loaded, \d+ %/);
    }
    const refused = await ask(url);
    assert.equal([refused.status, refused.headers.get('retry-after')], [503, '5']);
    const { data } = await readJson(await fetch(`${url}/v1/models`));
    assert.equal([data[0].id, data[0].status.value], ['chasqui-demo', 'loading']);
    assert.is(server.output.stdout, '');
    process.kill(engine, 'SIGCONT');
    await untilWritten(server, /^Serving chasqui-demo at/m);
    assert.is((await fetch(`${url}/ready`)).status, 200);
    assert.is((await ask(url)).status, 200);
  } finally {
    server.process.kill('SIGKILL');
    await server.exited;
  }
});

test('it stops in good order while it loads', async () => {
  const { server, engine } = await serveHeld();
  server.process.kill('SIGTERM');
  await until(() => server.output.stderr.includes('stopping'), 'it stops');
  process.kill(engine, 'SIGCONT');
  assert.equal(await server.exited, { code: 0, signal: null }, server.output.stderr);
  assert.is(server.output.stdout, '');
});

test('a process that ends while it loads ends the server, with the reason', async () => {
  const { server, engine } = await serveHeld();
  process.kill(engine, 'SIGKILL');
  assert.equal(await server.exited, { code: 1, signal: null });
  assert.match(server.output.stderr, /^chasqui: The process that loaded the model ended: .*SIGKILL/);
});

test.run();
