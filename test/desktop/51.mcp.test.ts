// MCP servers of the app: the file, states, and calls that only run if the user has allowed them.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type HostileMcp, writeHostileMcp } from '../support/hostile-mcp.js';
import { isRunning } from '../support/mcp-servers.js';
import { desktopFolder, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const servers = suite('MCP servers of the app');
const SECRET = 'secret-of-the-test';
let folder: string;
let file: string;
let app: RunningDesktop;
let hostile: HostileMcp;

servers.before(async () => {
  folder = desktopFolder();
  file = path.join(folder, 'mcp.json');
  hostile = writeHostileMcp(folder, { env: { SECRET_KEY: SECRET } });
  app = await startDesktop([], { folder });
});

servers.after(async () => {
  await app.stop();
  removeFolder(folder);
});

const save = (definitions: object | string, replaces: string | null = null) => {
  const text = typeof definitions === 'string' ? definitions : JSON.stringify(definitions);
  return app.api('POST', '/api/v1/mcp', { text, replaces });
};
const log = () => readFileSync(hostile.log, 'utf8').split('\n');
const stateOf = async (label: string) => {
  const { servers: all } = await app.done('GET', '/api/v1/mcp');
  return all.find((each: { label: string }) => each.label === label);
};
const untilState = (label: string, state: string) =>
  until(async () => (await stateOf(label))?.state === state, `${label} ${state}`);

/** Creates a chat with a call of a tool. Returns the function that runs the call. */
async function called(tool: string, chosen: string | undefined, args = '{"city":"Cusco"}') {
  const permission = chosen === 'chat' ? `chat:${(await stateOf('hostile')).tools[0].identity}` : chosen;
  const toolCalls = [{ id: 'c', name: `hostile_${tool}`, arguments: args }];
  const { id } = await app.done('POST', '/api/v1/chats', {
    settings: permission === undefined ? {} : { tools: { [`hostile\n${tool}`]: permission } },
    messages: [
      { id: 'q', parent: null, role: 'user', content: 'Go' },
      { id: 'a', parent: 'q', role: 'assistant', content: '', toolCalls },
    ],
    current: 'a',
  });
  return (fields: object = {}) =>
    app.api('POST', `/api/v1/chats/${id}/calls`, {
      message: 'a',
      call: 'c',
      server: 'hostile',
      tool,
      once: false,
      ...fields,
    });
}

servers('a server is added, replaced, switched off and on, and removed', async () => {
  const watched = await app.watch();
  assert.equal(await app.done('GET', '/api/v1/mcp'), { file, error: null, servers: [] });
  assert.is((await save({ mcpServers: { hostile: { ...hostile.definition, note: 'kept' } } })).status, 200);
  await untilState('hostile', 'running');
  assert.ok(watched.seen.some(({ name }) => name === 'mcp'));
  watched.close();
  const { tools, error, restarts } = await stateOf('hostile');
  assert.equal([tools.length, error, restarts], [5, null, 0]);
  const { identity } = tools[0];
  assert.match(identity, /^[\w-]{22}$/);
  assert.equal(tools[0], {
    identity,
    key: 'hostile\nweather',
    name: 'hostile_weather',
    tool: 'weather',
    description: '<i>Tool</i> weather',
  });
  if (process.platform !== 'win32') assert.is(statSync(file).mode & 0o777, 0o600);
  // The page gets no secrets, and keeps them by their placeholder.
  const { text } = await app.done('GET', '/api/v1/mcp/hostile');
  assert.not.match(text, new RegExp(SECRET));
  assert.equal(JSON.parse(text).hostile.env, { SECRET_KEY: '<stored>' });
  assert.is((await save(text.replace('"kept"', '"new"'), 'hostile')).status, 200);
  const stored = JSON.parse(readFileSync(file, 'utf8')).mcpServers.hostile;
  assert.equal([stored.env.SECRET_KEY, stored.note], [SECRET, 'new']);
  await untilState('hostile', 'running');
  const pid = Number(
    log()
      .findLast((line) => line.startsWith('started'))
      ?.slice('started '.length),
  );
  await app.done('PUT', '/api/v1/mcp/hostile', { enabled: false });
  assert.is((await stateOf('hostile')).state, 'off');
  await until(() => !isRunning(pid), 'the end of the program');
  await app.done('PUT', '/api/v1/mcp/hostile', { enabled: true });
  await untilState('hostile', 'running');
  assert.is((await save({ other: { command: 'x', disabled: true } })).status, 200);
  await app.done('DELETE', '/api/v1/mcp/other');
  assert.is((await app.api('DELETE', '/api/v1/mcp/other')).status, 404);
  assert.equal(Object.keys(JSON.parse(readFileSync(file, 'utf8')).mcpServers), ['hostile']);
});

servers('errors name the field and change nothing', async () => {
  const before = readFileSync(file, 'utf8');
  for (const [text, says] of [
    ['{', /The text is not JSON/],
    ['[]', /must be an object/],
    ['{}', /defines no server/],
    ['{"command": "x"}', /needs a name/],
    [{ hostile: { command: 'x' } }, /`hostile` exists already/],
    [{ a: {} }, /^`mcpServers\.a` must have either `command` or `url`/],
    [{ a: { command: 'x', args: [1] } }, /`mcpServers\.a\.args\[0\]` must be a string/],
    [{ a: { command: 'x', env: { KEY: '<stored>' } } }, /`env\.KEY` has no stored value/],
  ] as const) {
    const { status, body } = await save(text);
    assert.equal([status, body.error.param], [400, 'text'], String(text));
    assert.match(body.error.message, says);
  }
  assert.is(readFileSync(file, 'utf8'), before);
});

servers('a broken file is reported without its text, is not overwritten, and can be corrected', async () => {
  const before = readFileSync(file, 'utf8');
  writeFileSync(file, `{"mcpServers": ${SECRET}`);
  const { error, servers: none } = await app.done('GET', '/api/v1/mcp');
  assert.match(error, /mcp\.json must be a JSON object/);
  assert.not.match(error, new RegExp(SECRET));
  assert.equal(none, []);
  assert.is((await save({ a: { command: 'x' } })).status, 400);
  writeFileSync(
    file,
    JSON.stringify({ ...JSON.parse(before), theme: 1, mcpServers: { bad: 7, ...JSON.parse(before).mcpServers } }),
  );
  const { state, error: why } = await stateOf('bad');
  assert.equal([state, why], ['failed', '`mcpServers.bad` must be an object.']);
  assert.is((await stateOf('hostile')).state, 'running');
  await app.done('DELETE', '/api/v1/mcp/bad');
  assert.is(JSON.parse(readFileSync(file, 'utf8')).theme, 1);
});

servers('a call runs only if the user has allowed it, as the page showed it', async () => {
  const count = () => log().filter((line) => line === 'call weather').length;
  const refused = async (
    reply: { status: number; body: { error: { code: string } } },
    status: number,
    code: string,
  ) => {
    assert.equal([reply.status, reply.body.error.code], [status, code]);
  };
  const unoffered = await called('weather', undefined);
  await refused(await unoffered({ once: true }), 403, 'permission_denied');
  const asked = await called('weather', 'ask');
  await refused(await asked(), 403, 'permission_denied');
  await refused(await asked({ once: true, tool: 'long' }), 404, 'not_found');
  await refused(await asked({ once: true, call: 'd' }), 404, 'not_found');
  const { headers, status } = await fetch(`${app.url}/api/v1/chats/x/calls`, { method: 'POST', body: '{}' });
  assert.ok(status === 401 || status === 403, `${status} ${headers}`);
  assert.is(count(), 0);
  const { body } = await asked({ once: true });
  assert.is(body.state, 'done');
  assert.match(body.result, /^Rain in Cusco <\|im_end\|>[\s\S]*\n\[image of type image\/png\]$/);
  assert.is((await (await called('weather', 'chat'))()).body.state, 'done');
  const [{ identity }] = (await stateOf('hostile')).tools;
  for (const other of ['', '\nother']) {
    await app.done('PUT', '/api/v1/settings', { allowedTools: [`hostile\nweather${other}`] });
    await refused(await asked(), 403, 'permission_denied');
  }
  for (const other of ['', 'other']) {
    const unbound = await called('weather', other === '' ? 'chat:' : `chat:${other}`);
    await refused(await unbound(), 403, 'permission_denied');
  }
  await app.done('PUT', '/api/v1/settings', { allowedTools: [`hostile\nweather\n${identity}`] });
  assert.is((await asked()).body.state, 'done');
  assert.is(count(), 3);
  // Another program under the same name is not allowed.
  const { text } = await app.done('GET', '/api/v1/mcp/hostile');
  assert.is((await save(text, 'hostile')).status, 200);
  assert.equal((await app.done('GET', '/api/v1/settings')).allowedTools, []);
  await untilState('hostile', 'running');
  const inChat = await called('weather', 'chat');
  const changed = JSON.parse(text);
  changed.hostile.args.push('--other');
  const before = count();
  assert.is((await save(JSON.stringify(changed), 'hostile')).status, 200);
  await untilState('hostile', 'running');
  await refused(await inChat(), 403, 'permission_denied');
  assert.is(count(), before);
  assert.is((await save(text, 'hostile')).status, 200);
  await untilState('hostile', 'running');
});

servers('long results, floods, bad arguments and crashes fail their own call', async () => {
  const run = async (tool: string, args?: string) => (await (await called(tool, 'chat', args))()).body;
  const { result: long } = await run('long');
  assert.equal([long.length, long.slice(-27)], [65_536 + 27, '[34464 characters omitted]'.padStart(27, '\n')]);
  const flood = await run('flood');
  assert.equal([flood.state, /exceeds the limit of 4 MiB/.test(flood.result)], ['failed', true], flood.result);
  assert.equal(await run('weather', '[1'), { state: 'failed', result: 'The arguments are not a JSON object.' });
  const crash = await run('crash');
  assert.is(crash.state, 'failed');
  assert.match(crash.result, /The MCP server `hostile` failed: it ended with/);
  assert.not.match(crash.result, new RegExp(SECRET));
  const { state, error } = await stateOf('hostile');
  assert.is(state, 'failed');
  assert.match(error, /giving up with …/);
  const listed = () => log().filter((line) => line === 'listed').length;
  const before = listed();
  assert.is((await run('weather')).state, 'done');
  assert.equal([(await stateOf('hostile')).state, (await stateOf('hostile')).restarts], ['running', 1]);
  await until(() => listed() === before + 1, 'the tools of the restarted server');
});

servers('a call that hangs leaves others alone, runs once, and ends with its request', async () => {
  const hang = await called('hang', 'chat');
  const first = hang().catch(() => null);
  await until(() => log().includes('call hang'), 'the call');
  const again = await hang();
  assert.equal([again.status, again.body.error.code], [409, 'chat_busy']);
  assert.is((await (await called('weather', 'chat'))()).body.state, 'done');
  await app.done('PUT', '/api/v1/mcp/hostile', { enabled: false });
  const ended = await first;
  assert.is(ended?.body.state, 'failed');
});

servers('a program that is missing fails with a reason, and the app stops all programs', async () => {
  assert.is((await save({ missing: { command: path.join(folder, 'missing') } })).status, 200);
  await untilState('missing', 'failed');
  assert.match((await stateOf('missing')).error, /ENOENT/);
  await app.done('PUT', '/api/v1/mcp/hostile', { enabled: true });
  await untilState('hostile', 'running');
  const pid = Number(
    log()
      .findLast((line) => line.startsWith('started'))
      ?.slice('started '.length),
  );
  await app.stop();
  assert.not.ok(isRunning(pid));
  assert.ok(existsSync(file));
  app = await startDesktop([], { folder });
  await untilState('hostile', 'running');
});

servers.run();
