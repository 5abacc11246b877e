// The programs in dist/ are bundled (native/tooling/bundle-programs.mjs), because loading hundreds of files is slow.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startChild, untilWritten } from '../support/child.js';
import { usesDist } from '../support/node-arguments.mjs';
import { root } from '../support/places.js';

const MAX_COMMONJS_MODULES = 30;
const COUNTER = `data:text/javascript,${encodeURIComponent(`
  import module from 'node:module';
  import process from 'node:process';
  process.on('exit', () => console.error('CommonJS modules: ' + Object.keys(module._cache).length));
`)}`;

test('a server loads the packages of its start from the bundle', async () => {
  if (!usesDist()) return;
  const options = [process.env.NODE_OPTIONS, `--import=${COUNTER}`].filter(Boolean).join(' ');
  const child = startChild('ts/cli.ts', ['serve', '--port', '0'], { NODE_OPTIONS: options });
  await untilWritten(child, /^Serving /m);
  child.process.kill('SIGTERM');
  await child.exited;
  const counts = [...child.output.stderr.matchAll(/^CommonJS modules: (\d+)$/gm)].map(([, count]) => Number(count));
  assert.ok(counts.length > 0, child.output.stderr);
  assert.ok(Math.max(...counts) <= MAX_COMMONJS_MODULES, `${counts}`);
});

test('a child process loads one file', () => {
  for (const name of ['engine/child/main', 'engine/child/preparation-main', 'native/probe-child']) {
    const bundled = `bundle/${path.basename(name)}.js`;
    assert.match(readFileSync(path.join(root, 'dist', `${name}.js`), 'utf8'), bundled);
    assert.not.match(readFileSync(path.join(root, 'dist', bundled), 'utf8'), /^(import|export) .* from ['"]\./m);
  }
});

test.run();
