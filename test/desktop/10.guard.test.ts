// Access to the app's port. Any page in a browser can send requests to it, so all ways of access are tested.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cookieFor, cookieName, pageKeyFor } from '../../ts/desktop/guard.js';
import { runCli } from '../support/child.js';
import { expectError } from '../support/expect-error.js';
import { parseReply, type RawReply, sendBytes } from '../support/raw-client.js';
import { desktopVariables, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const guard = suite('guard of the app port');
let app: RunningDesktop;

guard.before(async () => {
  app = await startDesktop();
});

guard.after(async () => {
  await app.stop();
  removeFolder(app.folder);
});

/** Sent as bytes, because `fetch` does not let a caller choose these headers. */
async function ask(line: string, headers: Record<string, string>, body = ''): Promise<RawReply> {
  const all = { host: new URL(app.url).host, connection: 'close', 'content-length': `${body.length}`, ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return parseReply(await sendBytes(app.url, `${line} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`));
}

const bearer = () => ({ authorization: `Bearer ${app.token}` });

async function cookie(): Promise<string> {
  const reply = await ask(`GET /?token=${app.token}`, {});
  return (reply.headers['set-cookie'] ?? '').split(';')[0] as string;
}

const PATHS = [
  'GET /',
  'GET /api/v1/state',
  'GET /api/v1/events',
  'GET /api/v1/chats',
  'GET /app/v1/models',
  'GET /metrics',
  'GET /health',
  'GET /nothing',
  'POST /api/v1/server/start',
  'POST /app/v1/chat/completions',
  'DELETE /api/v1/models',
  'OPTIONS /api/v1/models/load',
];

guard('without the token there is nothing at any path, whether it exists or not', async () => {
  for (const line of PATHS) {
    expectError({ ...(await ask(line, {})) }, { status: 401, type: 'authentication_error', code: 'app_token_missing' });
  }
});

guard('another token, and a cookie made of the token, are as good as none', async () => {
  const refused = { status: 401, type: 'authentication_error', code: 'app_token_missing' };
  for (const authorization of [`Bearer ${app.token}x`, 'Bearer', `Key ${app.token}`, `bearer ${app.token}`]) {
    expectError(await ask('GET /api/v1/state', { authorization }), refused);
  }
  expectError(await ask('GET /api/v1/state', { cookie: `chasqui_app_${new URL(app.url).port}=${app.token}` }), refused);
  expectError(await ask('GET /?token=', {}), refused);
  expectError(await ask(`GET /?token=${app.token}x`, {}), refused);
  expectError(await ask(`POST /?token=${app.token}`, {}), refused);
  expectError(await ask(`GET /api/v1/state?token=${app.token}`, {}), refused);
});

guard('a command has the token, and a page its cookie', async () => {
  assert.is((await ask('GET /api/v1/state', bearer())).statusCode, 200);
  assert.is((await ask('GET /api/v1/state', { cookie: await cookie() })).statusCode, 200);
  assert.is((await ask('GET /api/v1/state', { cookie: `a=b; ${await cookie()}; c=d` })).statusCode, 200);
});

guard(
  'the opening address gives a cookie that no script and no other site gets, and leaves the token behind',
  async () => {
    const reply = await ask(`GET /?token=${app.token}`, {});
    assert.is(reply.statusCode, 200);
    assert.match(reply.body, /location\.replace\('\/'\)/);
    assert.not.ok(reply.body.includes(app.token));
    const given = reply.headers['set-cookie'] ?? '';
    assert.match(given, /; HttpOnly; SameSite=Strict; Max-Age=259200$/);
    assert.not.ok(given.includes(app.token));
  },
);

guard('a cookie is valid for its port until it expires, and is renewed while it is used', async () => {
  const port = Number(new URL(app.url).port);
  const now = Date.now() / 1000;
  const key = pageKeyFor(app.token, port);
  const asked = (at: number, of = port, to = port, pageKey = key) => {
    const [, session] = /=([^;]+)/.exec(cookieFor(app.token, of, at)) ?? [];
    return ask('GET /api/v1/state', { cookie: `${cookieName(to)}=${session}`, 'x-chasqui-page-key': pageKey });
  };
  const refused = { status: 401, type: 'authentication_error', code: 'app_token_missing' };
  const fresh = await asked(now);
  assert.equal([fresh.statusCode, fresh.headers['set-cookie']], [200, undefined]);
  assert.match((await asked(now - 2 * 3600)).headers['set-cookie'] ?? '', new RegExp(`^chasqui_app_${port}=`));
  const old = await asked(now - 2 * 3600, port, port, '');
  assert.equal([old.statusCode, old.headers['set-cookie']], [200, undefined]);
  expectError(await asked(now - 4 * 24 * 3600), refused);
  expectError(await asked(now, port + 1), refused);
  const forged = cookieFor(app.token, port, now - 4 * 24 * 3600).replace(/=\d+/, `=${Math.floor(now) + 1000}`);
  expectError(await ask('GET /api/v1/state', { cookie: forged.split(';')[0] as string }), refused);
});

guard(
  'a cookie alone only reads; the key of pages is for one port, and only the opening address gives it',
  async () => {
    const port = Number(new URL(app.url).port);
    const known = { cookie: await cookie(), origin: app.url, 'sec-fetch-site': 'same-origin' };
    const refused = { status: 401, type: 'authentication_error', code: 'app_token_missing' };
    const key = pageKeyFor(app.token, port);
    const definition = JSON.stringify({ text: '{"own": {"command": "x", "disabled": true}}', replaces: null });
    const add = (headers: Record<string, string>) =>
      ask('POST /api/v1/mcp', { ...known, 'content-type': 'application/json', ...headers }, definition);
    for (const other of ['', app.token, pageKeyFor(app.token, port + 1)]) {
      expectError(await add({ 'x-chasqui-page-key': other }), refused);
    }
    for (const line of ['POST /api/v1/opening-code', 'PUT /api/v1/mcp/own', 'DELETE /api/v1/mcp/own', 'OPTIONS /']) {
      expectError(await ask(line, known), refused);
    }
    expectError(await add({}), refused);
    assert.not.ok(existsSync(path.join(app.folder, 'mcp.json')));
    const read = await Promise.all(['/', '/api/v1/state', '/api/v1/mcp'].map((at) => ask(`GET ${at}`, known)));
    for (const { statusCode, body } of read) assert.equal([statusCode, body.includes(key)], [200, false]);
    expectError(await ask('POST /api/v1/mcp', { 'x-chasqui-page-key': key }), refused);
    assert.is((await add({ 'x-chasqui-page-key': key })).statusCode, 200);
    const opened = await ask(`GET /?token=${app.token}`, { 'sec-fetch-site': 'cross-site' });
    assert.ok(opened.body.includes(key));
  },
);

guard('a code opens the app once, and is of no use for anything else', async () => {
  const refused = { status: 401, type: 'authentication_error', code: 'app_token_missing' };
  const { code } = await app.done('POST', '/api/v1/opening-code');
  for (const line of [`GET /api/v1/state?code=${code}`, `POST /?code=${code}`, `GET /?code=${code}x`, 'GET /?code=']) {
    expectError(await ask(line, {}), refused);
  }
  expectError(await ask('GET /api/v1/state', { authorization: `Bearer ${code}` }), refused);
  const opened = await ask(`GET /?code=${code}`, {});
  assert.is(opened.statusCode, 200);
  const known = { cookie: (opened.headers['set-cookie'] ?? '').split(';')[0] as string };
  assert.is((await ask('GET /api/v1/state', known)).statusCode, 200);
  expectError(await ask(`GET /?code=${code}`, {}), refused);
  assert.is((await ask(`GET /?code=${code}`, known)).statusCode, 200);
});

if (process.platform !== 'win32') {
  guard('the command line of a browser that a second start opens has neither the token nor a code', async () => {
    const [browser, file] = ['browser.sh', 'arguments'].map((name) => path.join(app.folder, name)) as [string, string];
    writeFileSync(browser, `#!/bin/sh\nprintf '%s\\n' "$@" > '${file}'\n`, { mode: 0o755 });
    const variables = desktopVariables(app.folder, { DISPLAY: ':0', CHROME_PATH: browser });
    const { code: exitCode, stderr } = await runCli(['desktop', '--open'], variables);
    assert.is(exitCode, 0, stderr);
    const line = readFileSync(file, 'utf8');
    assert.not.ok(line.includes(app.token));
    assert.not.match(line, /code=|http:/);
    const page = fileURLToPath(/--app=(\S+)/.exec(line)?.[1] ?? '');
    assert.equal(
      [page, path.dirname(page)].map((place) => statSync(place).mode & 0o777),
      [0o600, 0o700],
    );
    const [, address = ''] = /url=([^"]+)"/.exec(readFileSync(page, 'utf8')) ?? [];
    const [, code = ''] = /\?code=(.+)/.exec(address) ?? [];
    assert.ok(code.length > 0 && !line.includes(code), address);
    const opened = await ask(`GET ${address.slice(app.url.length)}`, { 'sec-fetch-site': 'cross-site' });
    assert.is(opened.statusCode, 200);
    assert.not.ok(existsSync(page), 'the page goes with its code');
  });
}

guard('a page whose own name leads here gets nothing, even with the token', async () => {
  const refused = { status: 403, type: 'permission_error', code: 'host_not_allowed' };
  const { port } = new URL(app.url);
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    'localhost',
    '127.0.0.1:1',
    `localhost.evil.example:${port}`,
  ]) {
    expectError(await ask('GET /api/v1/state', { ...bearer(), host }), refused);
    expectError(await ask(`GET /?token=${app.token}`, { host }), refused);
  }
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, `LOCALHOST:${port}`]) {
    assert.is((await ask('GET /api/v1/state', { ...bearer(), host })).statusCode, 200, host);
  }
});

guard('a page of another origin gets nothing, though the browser sends the cookie along', async () => {
  const refused = { status: 403, type: 'permission_error', code: 'origin_not_allowed' };
  const known = { cookie: await cookie() };
  const { port } = new URL(app.url);
  for (const origin of [
    'https://evil.example',
    'null',
    'http://127.0.0.1:3000',
    `https://127.0.0.1:${port}`,
    'http://localhost:1234',
  ]) {
    expectError(await ask('POST /api/v1/server/stop', { ...known, origin }), refused);
    expectError(await ask('GET /api/v1/state', { ...bearer(), origin }), refused);
  }
  assert.is((await ask('GET /api/v1/state', { ...known, origin: app.url })).statusCode, 200);
});

guard('what another page embeds comes without an origin and is known by where it comes from', async () => {
  const known = { cookie: await cookie() };
  for (const site of ['cross-site', 'same-site']) {
    const reply = await ask('GET /api/v1/state', { ...known, 'sec-fetch-site': site });
    expectError(reply, { status: 403, type: 'permission_error', code: 'origin_not_allowed' });
  }
  for (const site of ['same-origin', 'none']) {
    assert.is((await ask('GET /api/v1/state', { ...known, 'sec-fetch-site': site })).statusCode, 200);
  }
});

guard('a form of another page cannot have a body read: only JSON is', async () => {
  const headers = { ...bearer(), 'content-type': 'text/plain' };
  const reply = await ask('POST /api/v1/models/load', headers, '{"model":"chasqui-demo"}');
  expectError(reply, { status: 415, code: 'unsupported_media_type' });
});

guard('pages may load nothing from elsewhere, and be shown in no other page', async () => {
  const { headers } = await ask('GET /', bearer());
  const policy = headers['content-security-policy'] ?? '';
  assert.match(policy, /default-src 'self'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.not.match(policy, /unsafe|\*/);
  assert.is(headers['x-content-type-options'], 'nosniff');
  assert.is(headers['access-control-allow-origin'], undefined);
});

guard('the token is in a file that nobody else can read', async () => {
  for (const name of ['desktop.json', 'desktop.db']) {
    assert.is(statSync(path.join(app.folder, name)).mode & 0o777, 0o600, name);
  }
  assert.not.match(app.child.output.stderr, new RegExp(app.token));
});

guard(
  'an unknown page leads back to the app, an unknown file is an error that does not list what there is',
  async () => {
    const page = await ask('GET /settings/old', { ...bearer(), accept: 'text/html,*/*;q=0.8' });
    assert.is(page.statusCode, 404);
    assert.match(page.headers['content-type'] ?? '', /^text\/html/);
    assert.match(page.body, /href="\/"/);
    const file = await ask('GET /assets/gone.js', bearer());
    expectError(file, { status: 404, type: 'not_found_error', code: 'unknown_url' });
    assert.ok(file.body.length < 300, file.body);
    expectError(await ask('GET /api/v1/nothing', { ...bearer(), accept: 'text/html' }), {
      status: 404,
      type: 'not_found_error',
      code: 'unknown_url',
    });
  },
);

guard('files with a hash in their name are kept for ever, the page that names them is not', async () => {
  const page = await ask('GET /', bearer());
  assert.match(page.headers['cache-control'] ?? '', /max-age=0/);
  const [name] = /\/assets\/app-[^"]+\.js/.exec(page.body) ?? [];
  assert.ok(name, page.body.slice(0, 500));
  const script = await ask(`GET ${name}`, bearer());
  assert.is(script.statusCode, 200);
  assert.is(script.headers['cache-control'], 'public, max-age=31536000, immutable');
});

guard.run();
