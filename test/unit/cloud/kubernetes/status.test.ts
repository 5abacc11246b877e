// Maps the status of deployments and pods to the status of apps.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Deployment, toStatus } from '../../../../ts/cloud/kubernetes/status.js';

const test = suite('kubernetes: status');

type Pods = Parameters<typeof toStatus>[1];

const DEPLOYMENT: Deployment = { metadata: { generation: 1 }, spec: { replicas: 1 } };

function stateOf(status: Deployment['status']): string {
  return toStatus({ ...DEPLOYMENT, status: { observedGeneration: 1, ...status } }, []).state;
}

function podOf(status: Pods[number]['status']) {
  const [pod] = toStatus(DEPLOYMENT, [{ metadata: { name: 'acme-chat-1' }, ...(status && { status }) }]).pods;
  return { state: pod?.state, reason: pod?.reason, restarts: pod?.restarts };
}

const waiting = (reason: string, message?: string) => ({ waiting: { reason, ...(message && { message }) } });
const ended = (exitCode: number, message?: string) => ({
  terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', ...(message && { message }) },
});
const runner = (state: object, more: object = {}) => ({ ready: false, restartCount: 0, state, ...more });
const WAITS = runner(waiting('PodInitializing'));
const FETCHED = { ready: true, restartCount: 0, state: ended(0) };

test('while a pod of before serves in the place of one that starts, the app is not ready', () => {
  assert.is(stateOf({ replicas: 2, readyReplicas: 1, updatedReplicas: 1 }), 'deploying');
  assert.is(stateOf({ replicas: 2, readyReplicas: 2, updatedReplicas: 1 }), 'deploying');
  assert.is(stateOf({ replicas: 1, readyReplicas: 1, updatedReplicas: 1 }), 'ready');
  assert.is(stateOf({ replicas: 1, readyReplicas: 0, updatedReplicas: 1 }), 'deploying');
});

test('pods that the cluster refuses to make are the reason why an app is not ready', () => {
  const refused = { type: 'ReplicaFailure', status: 'True', message: 'exceeded quota: models' };
  const late = { type: 'Progressing', status: 'False', message: 'it has timed out progressing' };
  const reasonOf = (status: Deployment['status']) => {
    const { state, reason } = toStatus({ ...DEPLOYMENT, status: { observedGeneration: 1, ...status } }, []);
    return { state, reason };
  };
  assert.equal(reasonOf({ conditions: [refused] }), { state: 'deploying', reason: 'exceeded quota: models' });
  assert.equal(reasonOf({ conditions: [late, refused] }), { state: 'failed', reason: 'exceeded quota: models' });
  assert.equal(reasonOf({ conditions: [late] }), { state: 'failed', reason: 'it has timed out progressing' });
  const ready = { replicas: 1, readyReplicas: 1, updatedReplicas: 1 };
  assert.equal(reasonOf({ ...ready, conditions: [refused] }), { state: 'ready', reason: null });
});

test('a pod fetches, loads and is ready', () => {
  const fetching = { ready: false, restartCount: 0, state: { running: {} } };
  const phase = { phase: 'Pending', initContainerStatuses: [fetching], containerStatuses: [WAITS] };
  assert.equal(podOf(phase), { state: 'fetching', reason: null, restarts: 0 });
  const running = (ready: boolean) => ({
    phase: 'Running',
    initContainerStatuses: [FETCHED],
    containerStatuses: [{ ready, restartCount: 1, state: { running: {} } }],
  });
  assert.equal(podOf(running(false)), { state: 'loading', reason: null, restarts: 1 });
  assert.equal(podOf(running(true)), { state: 'ready', reason: null, restarts: 1 });
});

test('an ended pod reports its last words, also during back-off', () => {
  const last = 'fetching weights 0 %\nchasqui: there is no model a/b\n';
  for (const state of [ended(1, last), waiting('CrashLoopBackOff', 'back-off 40s')]) {
    const fetcher = { ready: false, restartCount: 4, state, lastState: ended(1, last) };
    const pod = podOf({ phase: 'Pending', initContainerStatuses: [fetcher], containerStatuses: [WAITS] });
    assert.equal(pod, { state: 'crashed', reason: 'chasqui: there is no model a/b', restarts: 4 });
  }
  const crashed = runner(ended(1, "Error: Cannot find module 'x'\n    at load\n\nNode.js v22.1.0\n"));
  assert.is(podOf({ phase: 'Running', containerStatuses: [crashed] }).reason, "Error: Cannot find module 'x'");
  const silent = runner(waiting('CrashLoopBackOff', 'back-off 40s'), { lastState: ended(137) });
  const pod = podOf({ phase: 'Running', initContainerStatuses: [FETCHED], containerStatuses: [silent] });
  assert.equal(pod, { state: 'crashed', reason: 'it ended with exit code 137', restarts: 0 });
  const killed = { terminated: { exitCode: 137, reason: 'OOMKilled' } };
  assert.is(podOf({ phase: 'Running', containerStatuses: [runner(killed)] }).reason, 'OOMKilled');
});

test('the status has the reason that keeps a pod from starting', () => {
  const noImage = { ready: false, restartCount: 0, state: waiting('ImagePullBackOff', 'no such image') };
  const pulled = podOf({ phase: 'Pending', initContainerStatuses: [noImage], containerStatuses: [WAITS] });
  assert.equal(pulled, { state: 'pending', reason: 'no such image', restarts: 0 });
  const conditions = [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes: insufficient memory' }];
  assert.is(podOf({ phase: 'Pending', conditions }).reason, '0/3 nodes: insufficient memory');
});

test.run();
