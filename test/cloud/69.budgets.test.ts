// Budgets of a cloud in its own process: alerts, refusals, and the state after a kill.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI from 'openai';
import { SMTPServer } from 'smtp-server';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BudgetJson } from '../../ts/cloud/budgets/routes.js';
import { sign } from '../../ts/cloud/webhooks/webhooks.js';
import { TestCloud } from '../support/cloud.js';
import { until } from '../support/until.js';

const test = suite('cloud: budgets');
const WEBHOOK_KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const ARGS = ['--allow-loopback-webhooks', '--mail-from', 'cloud@chasqui.example'];
const mails: string[] = [];
const mailServer = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData: (stream, { envelope }, done) => {
    mails.push(...envelope.rcptTo.map(({ address }) => address));
    stream.resume().on('end', () => done());
  },
});
const received: { type: string; data: Record<string, unknown> }[] = [];
let cloud: TestCloud;
let receiver: http.Server;
/** Requests that reached the cloud's app, by the clients of this file. */
let sent = 0;

test.before(async () => {
  receiver = http.createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = request.headers;
    if (signature === sign(WEBHOOK_KEY, String(id), String(time), body)) received.push(JSON.parse(body.toString()));
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  await new Promise<void>((resolve) => mailServer.listen(0, '127.0.0.1', resolve));
  ARGS.push('--smtp-url', `smtp://127.0.0.1:${(mailServer.server.address() as AddressInfo).port}`);
  cloud = await TestCloud.start(ARGS);
  await cloud.deployed('chat', { auth: 'private', bearer: true, scale: { min: 1 } });
});
test.after(async () => {
  receiver.closeAllConnections();
  receiver.close();
  mailServer.close();
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

const client = () =>
  new OpenAI({
    apiKey: cloud.key,
    baseURL: `${cloud.url}/me/chat/v1`,
    maxRetries: 2,
    fetch: (url, init) => {
      sent += 1;
      return fetch(url, init);
    },
  });
const ask = () =>
  client().chat.completions.create({
    model: 'chasqui-demo',
    max_tokens: 2,
    messages: [{ role: 'user', content: 'Hi' }],
  });

async function budget(): Promise<BudgetJson> {
  const { stdout } = await cloud.cli('budgets', 'list', '--json');
  return (JSON.parse(stdout) as BudgetJson[])[0] as BudgetJson;
}

test('a budget is set by a command, and wrong ones are refused with the name of the flag', async () => {
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const refused = await cloud.cli('budgets', 'set', '--requests', '4', '--webhook', hook);
  assert.is(refused.code, 2);
  assert.match(refused.stderr, /chasqui secrets set WEBHOOK_KEY/);
  assert.is((await cloud.cli('secrets', 'set', 'WEBHOOK_KEY', WEBHOOK_KEY)).code, 0);
  const none = await cloud.cli('budgets', 'set');
  assert.equal([none.code, /`?--tokens`? or/.test(none.stderr)], [2, true], none.stderr);
  assert.is((await cloud.cli('budgets', 'set', '--tokens', '5', '--key-id', 'none')).code, 5);
  const set = await cloud.cli('budgets', 'set', '--requests', '4', '--warn-percent', '50', '--webhook', hook);
  assert.equal([set.code, set.stdout.trim()], [0, 'The budget of me is set: 4 requests per month.'], set.stderr);
});

test('a budget warns, then refuses with an error that clients do not retry', async () => {
  for (const alerts of [1, 2]) {
    for (let i = 0; i < 2; i++) await ask();
    await until(() => received.length === alerts, `${alerts} alerts`);
  }
  assert.equal(
    received.map(({ type, data }) => [type, data.org, data.key_id, data.unit, data.budget]),
    ['budget.warning', 'budget.limit'].map((type) => [type, 'me', null, 'requests', 4]),
  );
  sent = 0;
  const refusal = (await ask().catch((error: unknown) => error)) as InstanceType<typeof OpenAI.APIError>;
  assert.equal([refusal.status, refusal.code, sent], [429, 'insufficient_quota', 1]);
  assert.match(refusal.message, /The budget of the organisation me is 4 requests in \d{4}-\d\d; 4 are used/);
  const queued = await fetch(`${cloud.url}/queue/me/chat/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Key ${cloud.key}` },
    body: JSON.stringify({ model: 'chasqui-demo', max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  const { response_url: url } = (await queued.json()) as { response_url: string };
  const result = () => fetch(url, { headers: { authorization: `Key ${cloud.key}` } });
  await until(async () => (await result()).status === 429, 'the failure of the queued request');
  const table = await cloud.cli('budgets', 'list');
  assert.match(table.stdout, /^me +\d+ +4 of 4 +50 % +127\.0\.0\.1:\d+ +limit \(requests, delivered\)$/m);
});

test('a killed cloud refuses again, repeats no alert, and admits after the budget is raised', async () => {
  await until(async () => {
    const { usage } = await cloud.client.get<{ usage: { requests: number }[] }>('/usage');
    return usage.reduce((sum, { requests }) => sum + requests, 0) >= 4;
  }, 'the stored usage');
  await cloud.kill();
  await cloud.begin(ARGS);
  await cloud.untilApp('chat', ({ ready }) => ready === 1);
  assert.is((await ask().catch(({ code }) => code)) as unknown, 'insufficient_quota');
  const { used_requests: used, alerts } = await budget();
  assert.equal([used, alerts.map(({ level }) => level)], [4, ['warning', 'limit']]);
  assert.is(received.length, 2);
  assert.is((await cloud.cli('budgets', 'set', '--requests', '100')).code, 0);
  assert.is((await ask()).object, 'chat.completion');
  assert.is((await cloud.cli('budgets', 'rm')).code, 0);
  assert.is((await cloud.cli('budgets', 'rm')).code, 5);
});

test('six concurrent requests do not overrun a budget of tokens', async () => {
  const { used_tokens: used = 0 } = (await cloud.client
    .put<BudgetJson>('/budgets/me', { tokens: 1e6 })
    .catch(() => null)) ?? { used_tokens: 0 };
  await cloud.client.put('/budgets/me', { tokens: used + 100 });
  const body = { max_tokens: 200, ignore_eos: true };
  const replies = await Promise.all(
    Array.from({ length: 6 }, () => cloud.post('chat', body, { authorization: `Key ${cloud.key}` })),
  );
  type Body = { error?: { code: string } };
  const bodies = await Promise.all(replies.map(async (reply) => (await reply.json()) as Body));
  assert.equal(replies.map(({ status }) => status).sort(), [200, 429, 429, 429, 429, 429]);
  // A request that comes after the end of the first one finds the budget spent.
  for (const [i, { headers }] of replies.entries()) {
    assert.is(headers.has('retry-after'), bodies[i]?.error?.code === 'rate_limit_exceeded');
  }
  await cloud.client.delete('/budgets/me');
});

test('an alert is sent by e-mail', async () => {
  const wrong = await cloud.cli('budgets', 'set', '--requests', '1', '--email', 'ana');
  assert.equal([wrong.code, /--email.* must be one e-mail address/.test(wrong.stderr)], [2, true], wrong.stderr);
  const set = await cloud.cli('budgets', 'set', '--requests', '1', '--email', 'ana@acme.example');
  assert.is(set.code, 0, set.stderr);
  await until(async () => (await budget()).alerts.at(-1)?.email === 'delivered', 'the delivery');
  assert.equal(mails, ['ana@acme.example']);
  const { stdout } = await cloud.cli('budgets', 'list');
  assert.match(stdout, /^me +\d+ +\d+ of 1 +80 % +ana@acme\.example +limit \(requests, delivered\)$/m);
});

test.run();
