// Responses that clients store are in the data folder: they outlive the app, however it ends.
import { statSync } from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { desktopFolder, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const responses = suite('stored responses in the app');
const folder = desktopFolder();
let app: RunningDesktop;
let address: string;

responses.before(start);

responses.after(async () => {
  await app.stop();
  removeFolder(folder);
});

async function start(): Promise<void> {
  app = await startDesktop([], { folder });
  const { port } = await app.done('POST', '/api/v1/server/start', { model: 'chasqui-demo', port: 0 });
  address = `http://127.0.0.1:${port}`;
}

// biome-ignore lint/suspicious/noExplicitAny: replies of every kind
async function ask(method: string, url: string, body?: object): Promise<{ status: number; body: any }> {
  const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const reply = await fetch(address + url, { method, ...json });
  return { status: reply.status, body: await reply.json() };
}

responses('one is there again after a kill of the app, and a conversation goes on from it', async () => {
  const asked = { model: 'any', input: 'Count from 3 to 6', temperature: 0, max_output_tokens: 40 };
  const { body: first } = await ask('POST', '/v1/responses', asked);
  assert.is(first.status, 'completed');
  assert.is(statSync(path.join(folder, 'responses.db')).mode & 0o077, 0);
  await app.kill();
  await start();

  const again = await ask('GET', `/v1/responses/${first.id}`);
  assert.is(again.status, 200);
  assert.equal(again.body.output, first.output);
  const next = await ask('POST', '/v1/responses', { ...asked, input: 'Go on', previous_response_id: first.id });
  assert.is(next.status, 200);
  assert.ok(next.body.usage.input_tokens > first.usage.input_tokens + first.usage.output_tokens);
});

responses('one that is deleted is gone', async () => {
  const { body: stored } = await ask('POST', '/v1/responses', { model: 'any', input: 'Hi', max_output_tokens: 4 });
  await ask('DELETE', `/v1/responses/${stored.id}`);
  assert.is((await ask('GET', `/v1/responses/${stored.id}`)).status, 404);
});

responses.run();
