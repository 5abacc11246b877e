/** `chasqui serve --background`, and the commands that know the running servers. */
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callCli } from '../support/call-cli.js';
import { runCli, startChild, untilWritten } from '../support/child.js';
import { until } from '../support/until.js';

const test = suite('model-cli: servers in the background');
let home = '';

test.before.each(() => {
  home = mkdtempSync(path.join(tmpdir(), 'chasqui-background-'));
});

test.after.each(() => rmSync(home, { recursive: true }));

const run = (...args: string[]) => (args[0] === 'serve' ? runCli : callCli)(args, { CHASQUI_HOME: home });

interface Started {
  pid: number;
  url: string;
  log: string;
}

async function startInBackground(...args: string[]): Promise<Started> {
  const { code, stdout, stderr } = await run('serve', '--background', '--json', '--port', '0', ...args);
  assert.is(code, 0, stderr);
  return JSON.parse(stdout);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a server in the background is ready, listed, logged and stopped', async () => {
  const { pid, url, log } = await startInBackground('--alias', 'mine');
  assert.is((await fetch(`${url}/v1/models/mine`)).status, 200);
  assert.is(statSync(log).mode & 0o777, 0o600);

  const shown = await run('status');
  assert.match(shown.stdout, new RegExp(`^${url} +ready +${pid} +mine +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d$`, 'm'));
  const { servers, app, cloud } = JSON.parse((await run('status', '--json')).stdout);
  const [server] = servers;
  assert.equal([server.pid, server.state, server.models, app, cloud], [pid, 'ready', ['mine'], null, null]);
  assert.is(new Date(server.started_at).toISOString(), server.started_at);

  // The reply may arrive before its log line is written.
  const logged = async () => /GET \/v1\/models\/mine 200/.test((await run('logs')).stdout);
  await until(logged, 'the request is logged');
  assert.match((await run('logs', String(pid), '--limit', '1')).stdout, /^\d\d:\d\d:\d\d GET .*\n$/);
  assert.is((await run('logs', '--level', 'error', '--limit', '1')).stdout, '');
  const lines = (await run('logs', '--json')).stdout.trim().split('\n');
  assert.ok(lines.every((line) => typeof JSON.parse(line).msg === 'string'));

  const stopped = await run('stop');
  assert.equal([stopped.code, stopped.stdout], [0, `Stopped the server at ${url}.\n`], stopped.stderr);
  // The process removes its lock last.
  await until(
    () => readdirSync(path.join(home, 'servers')).every((name) => name.endsWith('.log')),
    'only logs are left',
  );
  const last = await run('logs', '--limit', '1');
  assert.match(last.stderr, /no server is running in the background; this is the last log/);
  assert.match(last.stdout, /stopping/);
});

test('a log file of more than 8 MiB continues empty, and its text is kept once', async () => {
  const { pid, url, log } = await startInBackground();
  for (const letter of ['a', 'b']) {
    appendFileSync(log, `${letter.repeat(9 * 2 ** 20)}\n`);
    await until(() => statSync(log).size === 0, 'the file is emptied');
    assert.is(readFileSync(`${log}.1`, 'utf8').at(-2), letter);
  }
  assert.is(statSync(`${log}.1`).mode & 0o777, 0o600);
  await fetch(`${url}/v1/models?after`);
  await until(
    () => /^\{.*"path":"\/v1\/models"/.test(readFileSync(log, 'utf8')),
    'the next line is the first of the file',
  );
  assert.is((await run('stop', String(pid))).code, 0);
});

test('a killed server is not listed, and leaves no entry', async () => {
  const { pid } = await startInBackground();
  process.kill(pid, 'SIGKILL');
  await until(() => !isRunning(pid), 'it is killed');
  for (const command of ['status', 'stop']) {
    const { code, stderr } = await run(command);
    assert.is(code, 3);
    assert.match(
      stderr,
      /no server, app or cloud is running with the data folder .*; start one with npx chasqui serve/,
    );
  }
  assert.ok(readdirSync(path.join(home, 'servers')).every((name) => name.endsWith('.log')));
});

test('a command for one of several servers requires its name', async () => {
  const first = await startInBackground();
  const second = startChild('ts/cli.ts', ['serve', '--port', '0'], { CHASQUI_HOME: home });
  const [, url] = await untilWritten(second, /^Serving .* at (http:\S+)\/v1$/m);
  const refused = await run('stop');
  assert.is(refused.code, 2);
  assert.match(
    refused.stderr,
    new RegExp(`several are running; name one:\n  npx chasqui stop ${first.pid} +server at`),
  );
  const { code, stderr } = await run('logs', String(second.process.pid));
  assert.equal([code, stderr], [5, `chasqui: the server at ${url} writes its log to its standard error\n`]);
  const followed = startChild('ts/cli.ts', ['logs', '-f', '--limit', '1'], { CHASQUI_HOME: home });
  await until(() => followed.output.stdout.split('\n').length > 1, 'the last line is shown');
  await fetch(`${first.url}/v1/models?followed`);
  await untilWritten(followed, /GET \/v1\/models/);
  followed.process.kill();
  await followed.exited;
  for (const pid of [first.pid, second.process.pid]) assert.is((await run('stop', String(pid))).code, 0);
  assert.equal(await second.exited, { code: 0, signal: null });
  await until(() => !isRunning(first.pid), 'it has ended');
});

test('a server that cannot start says why, with its exit code', async () => {
  const { code, stderr, stdout } = await run('serve', '--background', '--model', path.join(home, 'none.gguf'));
  assert.is(code, 1);
  assert.is(stdout, '');
  assert.match(
    stderr,
    /the server ended before it was ready; its log, .*:\nchasqui: .*none\.gguf is not a readable file/,
  );
});

test('a server in the foreground also runs where the data folder cannot be written', async () => {
  const server = startChild('ts/cli.ts', ['serve', '--port', '0'], { CHASQUI_HOME: '/dev/null/none' });
  await untilWritten(server, /^Serving /m);
  server.process.kill('SIGTERM');
  assert.equal(await server.exited, { code: 0, signal: null }, server.output.stderr);
  assert.not.ok(existsSync('/dev/null/none'));
});

test.run();
