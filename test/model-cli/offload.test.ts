// What is said of GPUs where none is used: in processes of their own, as the first model of one decides that.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runCli, startChild, untilWritten } from '../support/child.js';

const test = suite('cli: offload');
const onCpu = ['serve', '--port', '0', '--backend', 'cpu', '--ctx-size', '256'];

const REFUSED: [args: string[], says: RegExp][] = [
  [['--device', 'CUDA0'], /no device `CUDA0`.*none in use.*chasqui doctor/],
  [['--device', 'CPU'], /no device `CPU`/],
  [['--main-gpu', '0'], /index 0, counted from 0, but the devices in use are: none/],
  [['--tensor-split', '3,1'], /2 shares, but the devices in use are: none/],
];
for (const [args, says] of REFUSED) {
  test(`${args.join(' ')} is refused`, async () => {
    const { code, stdout, stderr } = await runCli([...onCpu, ...args]);
    assert.is(code, 2);
    assert.is(stdout, '');
    assert.match(stderr, says);
  });
}

test('layers, how to split them, and no device are taken and change nothing', async () => {
  const child = startChild('ts/cli.ts', [...onCpu, '-ngl', '2', '--split-mode', 'row', '--device', 'none']);
  await untilWritten(child, /^Try it/m);
  child.process.kill('SIGTERM');
  assert.equal(await child.exited, { code: 0, signal: null });
  assert.match(child.output.stdout, /^Backend: CPU; memory: \d+ MB\n/m);
});

test('--list-devices prints no device, and where to look for the reason', async () => {
  const { code, stdout, stderr } = await runCli(['serve', '--list-devices'], { CHASQUI_MODULES: '' });
  assert.equal([code, stdout], [0, 'Available devices:\n']);
  assert.is(stderr, 'There is no usable GPU; `npx chasqui doctor` shows the reasons.\n');
});

test.run();
