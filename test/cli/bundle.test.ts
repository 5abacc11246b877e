// The programs in dist/ are bundled (native/tooling/bundle-programs.mjs), because loading hundreds of files is slow.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startChild, untilWritten } from '../support/child.js';
import { usesDist } from '../support/node-arguments.mjs';

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

test.run();
