// The commands that ask the app that runs.
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Called, callCli } from '../support/call-cli.js';
import { demoModelPath } from '../support/demo-model.js';
import { desktopVariables, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const commands = suite('commands of the app');
const MODEL = 'chasqui-demo';
let app: RunningDesktop;

commands.before(async () => {
  app = await startDesktop(['--start-server', '--port', '0', '--model', MODEL]);
});

commands.after(async () => {
  if (app.child.process.exitCode === null) await app.stop();
  removeFolder(app.folder);
});

function chasqui(...args: string[]): Promise<Called> {
  return callCli(args, desktopVariables(app.folder));
}

commands('the server is started with the app where that is asked for, and a port of 0 is not remembered', async () => {
  const { server, settings } = await app.done('GET', '/api/v1/state');
  assert.is(server.state, 'running');
  assert.is(server.model, MODEL);
  assert.is(settings.lastModel, MODEL);
  assert.is(settings.port, 1234);
});

commands('status says what runs, in 80 columns, and in JSON for programs', async () => {
  const { code, stdout, stderr } = await chasqui('status');
  assert.is(code, 0, stderr);
  assert.match(stdout, /^Server {3}running at http:\/\/localhost:\d+\/v1, any name means chasqui-demo$/m);
  assert.match(stdout, /^chasqui-demo +loaded +\d+ +\d+ MB/m);
  for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
  const json = JSON.parse((await chasqui('status', '--json')).stdout);
  assert.is(json.app.server.state, 'running');
  assert.is(json.app.url, app.url);
  assert.equal(json.servers, []);
});

commands('the models of the app are listed, unloaded and loaded without its address', async () => {
  assert.match((await chasqui('ps')).stdout, /chasqui-demo +loaded/);
  assert.match((await chasqui('unload', MODEL)).stdout, /chasqui-demo is unloaded/);
  assert.match((await chasqui('ls', '--json')).stdout, /^\[/);
  const { code, stdout, stderr } = await chasqui('load', MODEL, '--json');
  assert.is(code, 0, stderr);
  assert.is(JSON.parse(stdout).status.value, 'loaded');
});

commands('the log is shown, line by line', async () => {
  const { stdout } = await chasqui('logs');
  assert.match(stdout, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d info {2}Server: running at/m);
  const lines = (await chasqui('logs', '--json')).stdout.trim().split('\n');
  assert.ok(lines.every((line) => typeof JSON.parse(line).message === 'string'));
  assert.is((await chasqui('logs', '--level', 'error')).stdout, '');
  const refused = await chasqui('logs', '--limit', 'many');
  assert.equal([refused.code, refused.stderr], [2, 'chasqui: --limit must be a whole number from 1 to 2000\n']);
});

commands('a second start starts the server of the first', async () => {
  await app.done('POST', '/api/v1/server/stop');
  const { code, stderr } = await chasqui('desktop', '--no-open', '--start-server', '--port', '0');
  assert.is(code, 0, stderr);
  assert.is((await app.done('GET', '/api/v1/state')).server.state, 'running');
});

commands('a second start starts the server with a file that the first does not know', async () => {
  const file = path.join(app.folder, 'elsewhere.gguf');
  copyFileSync(demoModelPath, file);
  const { code, stderr } = await chasqui('desktop', '--no-open', '--start-server', '--port', '0', '--model', file);
  assert.is(code, 0, stderr);
  assert.is((await app.done('GET', '/api/v1/state')).server.model, 'elsewhere');
  const none = await chasqui('desktop', '--no-open', '--start-server', '--port', '0', '--model', '/none/there.gguf');
  assert.is(none.code, 1);
  assert.match(none.stderr, /\/none\/there\.gguf is not a GGUF model/);
  assert.is((await app.done('GET', '/api/v1/state')).server.state, 'running');
});

commands('stop ends the app, and then the commands say how to start it', async () => {
  const { code, stdout, stderr } = await chasqui('stop', 'app');
  assert.equal([code, stdout], [0, `Stopped the desktop app at ${app.url}.\n`], stderr);
  assert.equal(await app.child.exited, { code: 0, signal: null });
  for (const name of ['status', 'logs', 'stop']) {
    const refused = await chasqui(name);
    assert.is(refused.code, 3);
    assert.match(refused.stderr, /no server, app or cloud is running with the data folder .*chasqui desktop/);
  }
});

commands.run();
