// A cloud on a machine without a network: everything is there, from the first start to a completion.
import { spawn, spawnSync } from 'node:child_process';
import process from 'node:process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { UNSHARE } from '../support/find-agents.mjs';
import { nodeArguments } from '../support/node-arguments.mjs';

const test = suite('cloud: offline');

/** Without the right to unshare the network, the test runs with the network. */
const canUnshare = spawnSync('unshare', [...UNSHARE, 'ip', 'link', 'set', 'lo', 'up']).status === 0;

test('apps with the model of the package and with a file are deployed, called, asleep and awake', async () => {
  const program = [process.execPath, ...nodeArguments('test/support/use-cloud-offline.ts')];
  const inside = ['unshare', ...UNSHARE, 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', ...program];
  const [command = '', ...args] = canUnshare ? inside : program;
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (data) => {
      output[name] += data;
    });
  }
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.is(code, 0, output.stderr);
  const { hasNetwork, ...found } = JSON.parse(output.stdout);
  if (canUnshare) assert.is(hasNetwork, false);
  assert.equal(found, {
    org: 'me',
    deployed: ['active', 'active'],
    statuses: [200, 200],
    page: 200,
    code: 0,
  });
});

test.run();
