// Quotas of organisations: at deployment, for the scale, and while runners start.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AppStatus } from '../../ts/cloud/gateway/gateway.js';
import type { ChasquiError } from '../../ts/errors.js';
import { runCli } from '../support/child.js';
import { TestCloud } from '../support/cloud.js';
import { until } from '../support/until.js';

const test = suite('cloud: quotas');
let cloud: TestCloud;

test.before(async () => {
  const quotas = ['memory=300', 'apps=2', 'acme:apps=1', 'acme:runners=1'];
  cloud = await TestCloud.start(['--runners-memory', '2000', ...quotas.flatMap((quota) => ['--org-quota', quota])]);
});
test.after(async () => assert.equal(await cloud.stop(), { code: 0, signal: null }));

const APP = { model: 'demo', context: 512, auth: 'public', machine: { memory: '190Mi' }, scale: { keepAlive: '1h' } };
const deploy = (org: string, name: string, options: object = {}) =>
  cloud.client.post(`/apps/${org}/${name}/revisions`, { options: { ...APP, ...options } });

async function refusalOf(action: Promise<unknown>): Promise<string> {
  const { code, message } = (await action.then(
    () => new Error('it was accepted'),
    (error) => error,
  )) as ChasquiError;
  return `${code}: ${message}`;
}

test('deployments and scales beyond a quota are refused by its name', async () => {
  await cloud.deployed('one', APP);
  assert.match(
    await refusalOf(deploy('me', 'two', { scale: { min: 2, max: 2 } })),
    /^deployment_refused: Organisation me would need \S+ MiB of memory; its quota is 300 MiB of memory\. /,
  );
  assert.match(await refusalOf(cloud.client.put('/apps/me/one/scale', { min: 2, max: 2 })), 'its quota is 300 MiB');
  await cloud.deployed('two', APP);
  assert.match(await refusalOf(deploy('me', 'three')), 'Organisation me would need 3 apps; its quota is 2 apps.');
  await deploy('acme', 'chat');
  assert.match(await refusalOf(deploy('acme', 'chat', { scale: { min: 2, max: 2 } })), 'its quota is 1 runners');
});

test('a runner beyond the quota waits and says so, and other organisations are served', async () => {
  await cloud.client.put('/apps/me/one/scale', { min: 1, max: 1 });
  await cloud.untilApp('one', ({ state }) => state === 'ready');
  const waiting = cloud.post('two', { max_tokens: 1 });
  await until(async () => {
    const { progress } = (await (await fetch(`${cloud.url}/me/two/status`)).json()) as AppStatus;
    return progress?.startsWith('quota of organisation me: ') ?? false;
  }, 'the wait for the quota');
  const body = { model: 'chasqui-demo', messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 1 };
  const other = await fetch(`${cloud.url}/acme/chat/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  assert.is(other.status, 200);
  await cloud.client.put('/apps/me/one/scale', { min: 0, max: 1 });
  assert.is((await waiting).status, 200);
});

test('a malformed quota is refused by its option', async () => {
  const { code, stderr } = await runCli(['cloud', 'start', '--org-quota', 'memory=8Gi'], cloud.variables);
  assert.is(code, 2);
  assert.match(stderr, '--org-quota');
});

test.run();
