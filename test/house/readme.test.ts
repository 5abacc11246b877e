// The README's claims about the tree hold: links lead somewhere, the life of a request names files and functions that
// exist, each dependency is accounted for, the table of errors is the catalogue.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ERRORS } from '../../ts/errors.ts';
import { links, tableWith, terms } from './markdown.ts';
import { exists, files, read } from './source-tree.ts';

const pages = files('.', /(^|\/)[A-Z]+\.md$/);

test('links between our own pages and files lead somewhere', () => {
  const broken = pages.flatMap((page) =>
    links(read(page))
      .filter((link) => !/^(https?:|mailto:|#)/.test(link))
      .map((link) => new URL(link.split('#')[0] as string, `file:///${page}`).pathname.slice(1))
      .filter((target) => !exists(decodeURIComponent(target)))
      .map((target) => `${page} -> ${target}`),
  );
  assert.equal(broken, []);
});

/** `Class::method` must stand so in a .cpp file; a header or TypeScript names class and method apart. */
function mentions(file: string, name: string): boolean {
  const text = read(file);
  if (file.endsWith('.cpp') && name.includes('::')) return text.includes(name);
  return name.split(/::|\./).every((part) => new RegExp(`\\b${part}\\b`).test(text));
}

test('the life of a request names files and functions that exist', () => {
  const { rows } = tableWith(read('README.md'), 'file', 'function');
  assert.ok(rows.length >= 8, 'the table has fewer rows than a request has steps');
  const broken = rows.flatMap((row) => {
    const named = terms(row.file ?? '');
    const missing = named.filter((file) => !exists(file));
    if (named.length === 0 || missing.length > 0) return [`file: ${row.file}`];
    return terms(row.function ?? '')
      .filter((name) => !named.some((file) => mentions(file, name)))
      .map((name) => `${named.join(', ')} has no ${name}`);
  });
  assert.equal(broken, []);
});

test('each dependency has its line', () => {
  const readme = read('README.md');
  const names = Object.keys(JSON.parse(read('package.json')).dependencies);
  assert.equal(
    names.filter((name) => !readme.includes(`\`${name}\``) && !readme.includes(`[${name}]`)),
    [],
  );
});

test('the table of errors is the catalogue', () => {
  const documented = tableWith(read('README.md'), 'code', 'status', 'type').rows.map((row) => ({
    code: terms(row.code ?? '')[0],
    status: Number(terms(row.status ?? '')[0] ?? row.status),
    type: terms(row.type ?? '')[0],
  }));
  const catalogue = Object.entries(ERRORS).map(([code, { status, type }]) => ({ code, status, type }));
  const byCode = (a: { code?: string | undefined }, b: { code?: string | undefined }) =>
    (a.code ?? '').localeCompare(b.code ?? '');
  assert.equal(documented.sort(byCode), catalogue.sort(byCode));
});

test('each code of the native side is in the catalogue', () => {
  const codes = [...read('native/core/error-code.h').matchAll(/"([a-z_]+)"/g)].map(([, code]) => code as string);
  assert.ok(codes.length > 0);
  assert.equal(
    codes.filter((code) => !(code in ERRORS)),
    [],
  );
});

test.run();
