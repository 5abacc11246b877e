// A module is tried in a process of its own, which ends with the one that tries it, even while the module hangs.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
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
  // Opening the FIFO blocks until a writer opens it; reading it blocks until the writer writes.
  const module = path.join(folder, 'libggml-hangs.so');
  execFileSync('mkfifo', [module]);
  const parent = path.join(folder, 'parent.ts');
  const script = path.join(root, 'ts', 'native', 'run-probe.ts');
  fs.writeFileSync(
    parent,
    `import(${JSON.stringify(script)}).then(({ runProbe }) => runProbe(${JSON.stringify(ADDON)}, 'try', [${JSON.stringify(module)}], 600_000));`,
  );
  const asking = startChild(parent);
  let writer: number | undefined;
  const isOpened = () => {
    writer = openToWrite(module);
    return writer !== undefined;
  };
  await until(isOpened, 'a process that opens the module', 30_000);
  try {
    // The writer can open the FIFO before the reader's descriptor exists.
    const readers = () => processTree(asking.process.pid as number).filter((pid) => hasOpen(pid, module));
    await until(() => readers().length > 0, 'a process that has the module open');
    const [trying, ...others] = readers();
    assert.equal([isAlive(trying as number), others], [true, []]);
    asking.process.kill('SIGKILL');
    await asking.exited;
    await until(() => !isAlive(trying as number), 'its end');
  } finally {
    fs.closeSync(writer as number);
  }
});

/** Fails while no process has the FIFO open to read. The reader then waits for data. */
function openToWrite(fifo: string): number | undefined {
  try {
    return fs.openSync(fifo, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENXIO') return undefined;
    throw error;
  }
}

/** False for a process that has ended. */
function hasOpen(pid: number, file: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return fs.readdirSync(folder).some((name) => linkOf(path.join(folder, name)) === file);
  } catch {
    return false;
  }
}

function linkOf(file: string): string | null {
  try {
    return fs.readlinkSync(file);
  } catch {
    return null;
  }
}

test.run();
