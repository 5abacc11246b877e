// A module is tried in a process of its own, which ends with the one that tries it, even while the module hangs.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import { startChild } from '../support/child.js';
import { isAlive } from '../support/engine-process.js';
import { root } from '../support/places.js';
import { processTree } from '../support/process-tree.js';
import { until } from '../support/until.js';

const ADDON = path.join(root, 'build', 'Release', 'chasqui.node');

const test = suite<{ folder: string }>('faults: a module that hangs');

test.before.each((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-faults-'));
});
test.after.each(({ folder }) => fs.rmSync(folder, { recursive: true }));

test('the process that tries it ends with the one that asked for it', async ({ folder }) => {
  // Opening the FIFO blocks until a writer opens it.
  const module = path.join(folder, 'libggml-hangs.so');
  execFileSync('mkfifo', [module]);
  const parent = path.join(folder, 'parent.ts');
  const script = path.join(root, 'ts', 'native', 'run-probe.ts');
  fs.writeFileSync(
    parent,
    `import(${JSON.stringify(script)}).then(({ runProbe }) => runProbe(${JSON.stringify(ADDON)}, 'try', [${JSON.stringify(module)}], 600_000));`,
  );
  const asking = startChild(parent);
  const probes = () => processTree(asking.process.pid as number).filter((pid) => hasLoadedAddon(pid, module));
  await until(() => probes().length > 0, 'a process that tries it', 30_000);
  const [trying] = probes();
  // From there it is not far to the module.
  await new Promise((resolve) => setTimeout(resolve, 500));
  asking.process.kill('SIGKILL');
  await asking.exited;
  await until(() => !isAlive(trying as number), 'its end');
});

/** Whether the process was told to try the module, and has the addon to do it with. */
function hasLoadedAddon(pid: number, module: string): boolean {
  const read = (name: string) => fs.readFileSync(`/proc/${pid}/${name}`, 'utf8');
  try {
    return read('cmdline').includes(module) && read('maps').includes(ADDON);
  } catch {
    return false;
  }
}

test.run();
