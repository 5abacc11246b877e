// GET /metrics of a cloud with two runners of one app, and how busy the pages say that each of them is.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type OwnCloud, startOwnCloud } from '../support/own-cloud.js';
import { until } from '../support/until.js';

const test = suite('cloud: metrics');
let own: OwnCloud;
let key: string;

test.before(async () => {
  own = await startOwnCloud();
  await own.deployed('chat', { slots: 1, context: 8192, scale: { min: 2, max: 2 } }, 2);
  key = own.cloud.accounts.keys.create({ name: 'prometheus', scopes: ['read'] }).key;
});
test.after(async () => {
  assert.equal(own.errors, []);
  await own.end();
});

const scrape = (sent: string | null) =>
  fetch(`${own.cloud.url}/metrics`, sent === null ? {} : { headers: { authorization: `Key ${sent}` } });

async function lines(): Promise<string[]> {
  return (await (await scrape(key)).text()).split('\n');
}

/** A stream that is left once its first bytes are here. It is so long that it does not end before. */
async function streamUntil(prompt: string, signal: AbortSignal, onBegun: () => void): Promise<void> {
  const body = { model: 'chasqui-demo', prompt, max_tokens: 8000, ignore_eos: true, stream: true };
  const headers = { 'content-type': 'application/json' };
  const url = `${own.cloud.url}/me/chat/v1/completions`;
  const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
  for await (const _ of reply.body ?? []) onBegun();
}

test('two runners with a request each: both are busy on the page, and the metrics count two', async () => {
  const leaving = new AbortController();
  const begun = new Set<string>();
  const streams = ['The sea', 'A star'].map((prompt) =>
    streamUntil(prompt, leaving.signal, () => begun.add(prompt)).catch(() => {}),
  );
  await until(async () => {
    const page = (await own.visitor.get('/dashboard/apps/me/chat')).text;
    return [...page.matchAll(/data-label="Busy">1 of 1</g)].length === 2;
  }, 'both are busy');
  assert.ok((await lines()).includes('chasqui_app_requests_running{org="me",app="chat"} 2'));
  await until(() => begun.size === 2, 'both have begun');
  leaving.abort();
  await Promise.all(streams);
  await until(async () => {
    const page = (await own.visitor.get('/dashboard/apps/me/chat')).text;
    return [...page.matchAll(/data-label="Busy">0 of 1</g)].length === 2;
  }, 'neither is any more');
});

test('requests, tokens and runners are counted', async () => {
  const before = await lines();
  const ok = 'chasqui_app_requests_total{org="me",app="chat",status="200"} ';
  const countOf = (all: readonly string[], name: string) =>
    Number(all.find((line) => line.startsWith(name))?.slice(name.length) ?? 0);
  const reply = await fetch(`${own.cloud.url}/me/chat/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chasqui-demo', prompt: 'Once', max_tokens: 3, ignore_eos: true }),
  });
  assert.is(reply.status, 200);
  await until(async () => countOf(await lines(), ok) === countOf(before, ok) + 1, 'it is counted');
  const after = await lines();
  const completion = 'chasqui_app_completion_tokens_total{org="me",app="chat"} ';
  assert.is(countOf(after, completion) - countOf(before, completion), 3);
  for (const line of [
    'chasqui_app_runners{org="me",app="chat",state="ready"} 2',
    'chasqui_app_runners{org="me",app="chat",state="loading"} 0',
    'chasqui_app_runner_starts_total{org="me",app="chat"} 2',
    'chasqui_app_runner_crashes_total{org="me",app="chat"} 0',
    'chasqui_app_failed{org="me",app="chat"} 0',
  ]) {
    assert.ok(after.includes(line), line);
  }
  const requests = after.filter((line) => line.startsWith('chasqui_app_requests_total{org="me",app="chat"'));
  const left = requests.filter((line) => !line.startsWith(ok)).map((line) => Number(line.split(' ').at(-1)));
  assert.is(
    left.reduce((sum, count) => sum + count, 0),
    2,
    requests.join('\n'),
  );
  assert.ok(countOf(after, 'chasqui_app_first_byte_seconds_count{org="me",app="chat"} ') >= 3);
});

test('a runner that crashed is counted', async () => {
  const [{ id, pid } = { id: '', pid: null }] = await own.cloud.control.runnersOf('me', 'chat');
  process.kill(pid as number, 'SIGKILL');
  await until(async () => (await lines()).includes('chasqui_app_runner_crashes_total{org="me",app="chat"} 1'), id);
});

test("keys with the scope `read` see the metrics of their organisation's apps", async () => {
  assert.is((await scrape(null)).status, 401);
  assert.is((await scrape('nobody')).status, 401);
  const { keys } = own.cloud.accounts;
  assert.is((await scrape(keys.create({ name: 'caller', scopes: ['call'] }).key)).status, 403);
  const reply = await scrape(key);
  assert.match(reply.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  assert.match(await reply.text(), /^process_cpu_seconds_total /m);
  const mine = await (await scrape(keys.create({ name: 'mine', org: 'me', scopes: ['read'] }).key)).text();
  assert.match(mine, 'org="me"');
  assert.not.match(mine, /process_|event_loop/);
  const other = await (await scrape(keys.create({ name: 'other', org: 'globex', scopes: ['read'] }).key)).text();
  assert.is(other, '');
});

test.run();
