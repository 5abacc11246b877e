// What is left of hollow copies when their process is killed, with real processes.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeHollowFolder, removeLeftFolders } from '../../../ts/hub/hollow-folders.js';
import { type Child, startChild, untilWritten } from '../../support/child.js';

const test = suite<{ folder: string; before: string | undefined; children: Child[] }>('unit: folders of hollow copies');

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

/** A process that has such a folder with a file in it, and lives on. */
async function startHolder(folder: string, children: Child[]): Promise<Child & { holds: string }> {
  const script = path.join(folder, `holder-${children.length}.mts`);
  const module = JSON.stringify(new URL('../../../ts/hub/hollow-folders.ts', import.meta.url).href);
  fs.writeFileSync(
    script,
    `import fs from 'node:fs';
     const { makeHollowFolder } = await import(${module});
     const { path } = makeHollowFolder();
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

test('that of a process that was killed is removed by the next, and that of one that lives is not', async ({
  folder,
  children,
}) => {
  const killed = await startHolder(folder, children);
  const alive = await startHolder(folder, children);
  await kill(killed);
  const earlier = fs.mkdtempSync(path.join(folder, 'chasqui-fit-'));
  const others = fs.mkdtempSync(path.join(folder, 'chasqui-other-'));
  // Another process has made it, and is about to lock it.
  const young = fs.mkdtempSync(path.join(folder, 'chasqui-fit-'));
  for (const each of [killed.holds, alive.holds, earlier, others]) age(each);
  const own = makeHollowFolder();
  const there = [killed.holds, alive.holds, earlier, others, young, own.path].map((each) => fs.existsSync(each));
  assert.equal(there, [false, true, false, true, true, true]);
  assert.is(fs.readFileSync(path.join(alive.holds, 'model.gguf'), 'utf8'), 'GGUF');
  own.remove();
  assert.not(fs.existsSync(own.path));
});

test('a temporary folder that cannot be read is no error', ({ folder }) => {
  process.env.TMPDIR = path.join(folder, 'none');
  removeLeftFolders();
});

test.run();
