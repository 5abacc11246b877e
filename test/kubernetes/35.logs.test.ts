// Logs of an app's pods, polled as by `--follow`.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type LogCursor, type PodLine, readLogs } from '../../ts/cloud/kubernetes/change.js';
import { FakeCluster } from '../support/kubernetes/fake-cluster.js';

const test = suite('kubernetes: logs');
const before = process.env.KUBECONFIG;
let cluster: FakeCluster;

test.before.each(async () => {
  cluster = await FakeCluster.start();
  Object.assign(process.env, cluster.environment);
});
test.after.each(async () => {
  await cluster.close();
  if (before === undefined) delete process.env.KUBECONFIG;
  else process.env.KUBECONFIG = before;
});

function addPod(name: string): void {
  cluster.objects.set(`Pod/${name}`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'models', labels: { 'chasqui.dev/app': 'acme-chat' } } as { name: string },
    spec: { initContainers: [{ name: 'fetch' }], containers: [{ name: 'runner' }] },
  });
}

async function read(cursor: LogCursor): Promise<string[]> {
  const lines: PodLine[] = [];
  await readLogs({ context: null, namespace: null }, 'acme-chat', { follow: false, cursor }, (line) => {
    lines.push(line);
  });
  return lines.map(({ pod, container, text }) => `${pod} ${container} ${text}`).sort();
}

test('a line that was read is not read again, and those that come later are', async () => {
  addPod('one');
  cluster.logs.set('one/fetch', 'fetching weights 100 %\n').set('one', 'Serving\n');
  const cursor: LogCursor = new Map();
  assert.equal(await read(cursor), ['one fetch fetching weights 100 %', 'one runner Serving']);
  addPod('two');
  cluster.logs.set('two/fetch', 'fetching weights 7 %\n').set('one', 'Serving\n  stopping\n');
  assert.equal(await read(cursor), ['one runner   stopping', 'two fetch fetching weights 7 %']);
  assert.equal(await read(cursor), []);
});

test.run();
