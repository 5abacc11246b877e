// An app for as long as a command runs, and nothing of it after that.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, startChild, untilWritten } from '../support/child.js';
import { writeScript } from '../support/cloud.js';
import { isAlive } from '../support/engine-process.js';
import { processTree } from '../support/process-tree.js';
import { until } from '../support/until.js';

const test = suite('cloud: run');

const SCRIPT = `export const chat = app({ model: 'demo', context: 512 });`;
const BODY = JSON.stringify({ model: 'chasqui-demo', max_tokens: 3, messages: [{ role: 'user', content: 'Hello!' }] });

interface Started {
  child: Child;
  url: string;
  key: string;
  pids: number[];
}

async function started(variables: NodeJS.ProcessEnv = {}, script = SCRIPT): Promise<Started> {
  const child = startChild('ts/cli.ts', ['run', `${writeScript(script)}::chat`, '--json'], variables);
  const [line] = await untilWritten(child, /^\{.*\}$/m);
  const { url, key } = JSON.parse(line) as { url: string; key: string };
  // The request waits until the runner is ready.
  assert.is(await statusOf(url, { authorization: `Key ${key}` }), 200);
  return { child, url, key, pids: processTree(child.process.pid as number) };
}

async function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  const all = { 'content-type': 'application/json', ...headers };
  return (await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: all, body: BODY })).status;
}

test('it prints address, key and a curl line, asks for the key, and is gone at Ctrl-C with all its processes', async () => {
  const { child, url, pids } = await started();
  assert.ok(pids.length >= 3, 'the command, a runner and its engine');
  assert.is(await statusOf(url, {}), 401);
  child.process.kill('SIGINT');
  assert.equal(await child.exited, { code: 0, signal: null }, child.output.stderr);
  await until(() => pids.every((pid) => !isAlive(pid)), 'the end of all its processes');
});

test('its secrets are environment variables of the command, and a missing one is an error', async () => {
  const script = SCRIPT.replace('context', "secrets: ['MY_TOKEN'], context");
  const { child, pids } = await started({ MY_TOKEN: 'sesame' }, script);
  const environments = pids.map((pid) => fs.readFileSync(`/proc/${pid}/environ`, 'utf8'));
  assert.ok(environments.filter((each) => each.includes('MY_TOKEN=sesame')).length >= 2);
  child.process.kill('SIGINT');
  await child.exited;
  const without = startChild('ts/cli.ts', ['run', `${writeScript(script)}::chat`]);
  assert.is((await without.exited).code, 2);
  assert.match(without.output.stderr, 'Set the environment variables MY_TOKEN');
});

test('when it is killed, its runners end as well', async () => {
  const { child, pids } = await started();
  child.process.kill('SIGKILL');
  await child.exited;
  await until(() => pids.every((pid) => !isAlive(pid)), 'the end of all its processes');
});

test('the folder of one that was killed is removed by the next one, that of one that runs is not', async () => {
  const tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'ch-'));
  const folders = () => fs.readdirSync(tmp).filter((name) => name.startsWith('chasqui-run-'));
  const makeOld = (name: string) => fs.utimesSync(path.join(tmp, name), 0, 0);
  const killed = await started({ TMPDIR: tmp });
  killed.child.process.kill('SIGKILL');
  await killed.child.exited;
  const [left = ''] = folders();
  makeOld(left);
  const second = await started({ TMPDIR: tmp });
  const [running = '', ...more] = folders();
  assert.equal(more, []);
  assert.is.not(running, left);
  makeOld(running);
  const third = await started({ TMPDIR: tmp });
  assert.ok(folders().includes(running));
  assert.is(folders().length, 2);
  for (const { child } of [second, third]) child.process.kill('SIGINT');
  for (const { child } of [second, third]) assert.is((await child.exited).code, 0);
  assert.equal(folders(), []);
  fs.rmSync(tmp, { recursive: true, force: true });
});

test('for people it says the same in words that fit a terminal', async () => {
  const child = startChild('ts/cli.ts', ['run', writeScript(SCRIPT), '--auth', 'public']);
  await untilWritten(child, /^Ready\.$/m);
  const { stdout } = child.output;
  assert.match(stdout, /^chat, until Ctrl-C:\n\n {2}address {2}http:\/\/127\.0\.0\.1:\d+\/me\/chat\n {2}public /);
  const [, curl = ''] = /^ {2}(curl .*)$/m.exec(stdout) ?? [];
  assert.not.match(curl, 'Authorization');
  child.process.kill('SIGTERM');
  assert.is((await child.exited).code, 0);
});

test('an app that cannot start ends the command with an error', async () => {
  const script = writeScript(`export const none = app({ model: 'http://127.0.0.1:9/none.gguf' });`);
  const child = startChild('ts/cli.ts', ['run', script]);
  assert.is((await child.exited).code, 4);
  assert.match(child.output.stderr, 'Could not download the model from http://127.0.0.1:9/none.gguf');
});

test.run();
