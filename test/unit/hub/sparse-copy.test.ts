// Stale folders of sparse copies, with real processes that are killed.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeSparseFolder, removeStaleFolders } from '../../../ts/hub/sparse-copy.js';
import { type Child, startChild, untilWritten } from '../../support/child.js';

const test = suite<{ folder: string; before: string | undefined; children: Child[] }>('unit: folders of sparse copies');

test.before.each((context) => {
  context.before = process.env.TMPDIR;
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-left-'));
  context.children = [];
  process.env.TMPDIR = context.folder;
});
test.after.each(async ({ folder, before, children }) => {
  for (const child of children) await kill(child);
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  fs.rmSync(folder, { recursive: true, force: true });
});

/** A running process with such a folder and a file in it. */
async function startHolder(folder: string, children: Child[]): Promise<Child & { holds: string }> {
  const script = path.join(folder, `holder-${children.length}.mts`);
  const module = JSON.stringify(new URL('../../../ts/hub/sparse-copy.ts', import.meta.url).href);
  fs.writeFileSync(
    script,
    `import fs from 'node:fs';
     const { makeSparseFolder } = await import(${module});
     const { path } = makeSparseFolder();
     fs.writeFileSync(path + '/model.gguf', 'GGUF');
     console.log('holds ' + path);
     setInterval(() => {}, 1000);`,
  );
  const child = startChild(script);
  children.push(child);
  const [, holds = ''] = await untilWritten(child, /^holds (.*)$/m);
  return Object.assign(child, { holds });
}

async function kill(child: Child): Promise<void> {
  child.process.kill('SIGKILL');
  await child.exited;
}

function age(folder: string): void {
  const long = new Date(Date.now() - 120_000);
  fs.utimesSync(folder, long, long);
}

test('the folder of a killed process is removed by the next one, that of a running process is kept', async ({
  folder,
  children,
}) => {
  const killed = await startHolder(folder, children);
  const alive = await startHolder(folder, children);
  await kill(killed);
  const earlier = fs.mkdtempSync(path.join(folder, 'chasqui-fit-'));
  const others = fs.mkdtempSync(path.join(folder, 'chasqui-other-'));
  // As if another process had made it and not locked it yet.
  const young = fs.mkdtempSync(path.join(folder, 'chasqui-fit-'));
  for (const each of [killed.holds, alive.holds, earlier, others]) age(each);
  const own = makeSparseFolder();
  const there = [killed.holds, alive.holds, earlier, others, young, own.path].map((each) => fs.existsSync(each));
  assert.equal(there, [false, true, false, true, true, true]);
  assert.is(fs.readFileSync(path.join(alive.holds, 'model.gguf'), 'utf8'), 'GGUF');
  own.remove();
  assert.not(fs.existsSync(own.path));
});

test('an unreadable temporary folder is no error', ({ folder }) => {
  process.env.TMPDIR = path.join(folder, 'none');
  removeStaleFolders();
});

test.run();
