// Processes that cannot be started are reported to the caller and crash no other process.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { forkScript } from '../../../ts/process/fork-script.js';
import { writeForkedScript } from '../../support/forked-script.js';

const test = suite<{ folder: string }>('unit: scripts in processes of their own');

test.before((context) => {
  context.folder = mkdtempSync(join(tmpdir(), 'chasqui-fork-'));
});
test.after(({ folder }) => rmSync(folder, { recursive: true }));

function script({ folder }: { folder: string }, body: string): URL {
  return writeForkedScript(folder, `script${body.replace(/\W+/g, '-').slice(0, 40)}`, body);
}

async function lastWordsOf(context: { folder: string }, body: string): Promise<string> {
  const { child, lastWords } = forkScript(script(context, body));
  await new Promise((resolve) => child.once('close', resolve));
  return lastWords();
}

test('its last words are what says most, without what controls a terminal', async (context) => {
  assert.is(await lastWordsOf(context, "console.error('one\\n\\x1b[2Jtwo\\x07\\r\\n')"), '[2Jtwo');
  assert.is(await lastWordsOf(context, "console.error('GGML_ASSERT(x) failed\\n#0 0x12')"), 'GGML_ASSERT(x) failed');
  assert.is(await lastWordsOf(context, "throw new TypeError('no such thing')"), 'TypeError: no such thing');
  assert.is(await lastWordsOf(context, ''), '');
});

test('an extra pipe is read and written at a time', async (context) => {
  const body = `
    import { Socket } from 'node:net';
    const pipe = new Socket({ fd: 4, readable: true, writable: true });
    pipe.on('data', (data) => pipe.write(data));`;
  const { child } = forkScript(script(context, body), [], { pipes: 1 });
  const pipe = child.stdio[4] as unknown as NodeJS.ReadWriteStream;
  const text = 'x'.repeat(1_000_000);
  pipe.write(text);
  let got = 0;
  await new Promise<void>((resolve) => {
    pipe.on('data', (data: Buffer) => {
      got += data.length;
      if (got === text.length) resolve();
    });
  });
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('close', resolve));
});

if (process.platform !== 'win32') {
  test('without files left it throws, and the process lives', (context) => {
    const forking = script(
      context,
      `import { openSync } from 'node:fs';
      import { ForkFailed, forkScript } from '${new URL('../../../ts/process/fork-script.ts', import.meta.url)}';
      try {
        for (;;) openSync('/dev/null', 'r');
      } catch {}
      try {
        forkScript(new URL('file:///none'), [], { pipes: 1 });
      } catch (error) {
        console.log(String(error instanceof ForkFailed), error.message);
      }
      setTimeout(() => console.log('lives', String(process.listenerCount('exit'))), 50);`,
    );
    const command = [process.execPath, ...process.execArgv, `${fileURLToPath(forking)}.ts`];
    const { stdout } = spawnSync('sh', ['-c', 'ulimit -n 128; exec "$@"', 'sh', ...command], { encoding: 'utf8' });
    assert.is(stdout, 'true too many files are open\nlives 0\n');
  });
}

test.run();
