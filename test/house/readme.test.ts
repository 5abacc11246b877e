// The pages' claims about the tree hold: links lead somewhere, the life of a request names files and functions that exist,
// dependencies, endpoints, request fields, hosting modes and errors are those of the code.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parametersOf } from '../../ts/api/shared/chat/chat-schema.ts';
import { ERRORS } from '../../ts/errors.ts';
import { desktop } from '../../ts/profiles/desktop.ts';
import type { Profile } from '../../ts/profiles/profile.ts';
import { runtime } from '../../ts/profiles/runtime.ts';
import { serverless } from '../../ts/profiles/serverless.ts';
import { FIELDS_PAGE, pageWithTables } from './field-table.ts';
import { anchors, linkedTerms, links, tableWith, terms } from './markdown.ts';
import { exists, files, read } from './source-tree.ts';

const HTTP = 'ts/http/README.md';
const MODES = 'ts/profiles/README.md';
const LIFE = 'ts/README.md';

const pages = [...files('.', /(^|\/)[A-Z]+\.md$/), ...files('docs', /\.md$/)];

/** The file of a link, and the part of it after `#`. */
function resolveLink(page: string, link: string): [file: string, anchor: string] {
  const { pathname, hash } = new URL(link, `file:///${page}`);
  return [decodeURIComponent(pathname.slice(1)), hash.slice(1)];
}

test('links between our own pages and files lead somewhere', () => {
  const broken = pages.flatMap((page) =>
    links(read(page))
      .filter((link) => !/^(https?|mailto):/.test(link))
      .filter((link) => {
        const [file, anchor] = resolveLink(page, link);
        return !exists(file) || (anchor !== '' && !anchors(read(file)).includes(anchor));
      })
      .map((link) => `${page} -> ${link}`),
  );
  assert.equal(broken, []);
});

/** npm includes these whatever the list of files says. */
const ALWAYS_PUBLISHED = ['LICENSE'];

test('files linked from README.md are in the package', () => {
  const [, packing = ''] = /^const pages = ([\s\S]*?)^const notInMain/m.exec(read('native/tooling/pack.mjs')) ?? [];
  const packed = [...packing.matchAll(/'([^']+)'/g)].map(([, name]) => name as string);
  const published = [...(JSON.parse(read('package.json')).files as string[]), ...ALWAYS_PUBLISHED];
  const linked = links(read('README.md'))
    .filter((link) => !link.startsWith('https:'))
    .map((link) => resolveLink('README.md', link)[0]);
  assert.ok(linked.length > 10);
  const holds = (names: readonly string[], file: string) => names.some((name) => `${file}/`.startsWith(`${name}/`));
  assert.equal(
    linked.filter((file) => !holds(packed, file) || !holds(published, file)),
    [],
  );
});

test('README.md stays short', () => {
  assert.ok(read('README.md').length <= 6000);
});

/** `Class::method` must stand so in a .cpp file; a header or TypeScript names class and method apart. */
function mentions(file: string, name: string): boolean {
  const text = read(file);
  if (file.endsWith('.cpp') && name.includes('::')) return text.includes(name);
  return name.split(/::|\./).every((part) => new RegExp(`\\b${part}\\b`).test(text));
}

test('the life of a request names files and functions that exist', () => {
  const { rows } = tableWith(read(LIFE), 'file', 'function');
  assert.ok(rows.length >= 20, 'the table has fewer rows than a request has steps');
  const broken = rows.flatMap((row) => {
    const named = linkedTerms(row.file ?? '').map(({ text, link }) => ({ text, file: resolveLink(LIFE, link)[0] }));
    const wrong = named.filter(({ text, file }) => !exists(file) || ![text, `ts/${text}`].includes(file));
    if (named.length === 0 || wrong.length > 0) return [`file: ${row.file}`];
    const functions = terms(row.function ?? '');
    if (functions.length === 0) return [`no function: ${row.step}`];
    const idle = named.filter(({ file }) => !functions.some((name) => mentions(file, name))).map(({ text }) => text);
    return [
      ...idle.map((file) => `${file} has none of ${row.function}`),
      ...functions
        .filter((name) => !named.some(({ file }) => mentions(file, name)))
        .map((name) => `${row.file} has no ${name}`),
    ];
  });
  assert.equal(broken, []);
});

test('the table of dependencies is that of package.json', () => {
  const { dependencies, peerDependencies } = JSON.parse(read('package.json'));
  const documented = tableWith(read(LIFE), 'package', 'for').rows.map(({ package: name = '' }) => terms(name)[0]);
  assert.equal(documented.sort(), [...Object.keys(dependencies), ...Object.keys(peerDependencies)].sort());
});

test('the tables of endpoints and request fields are generated: npx tsx test/house/field-table.ts writes them', async () => {
  assert.is(read(FIELDS_PAGE), await pageWithTables());
});

const profiles: Record<string, Profile> = { runtime, desktop, serverless };

test('the table of hosting modes is that of the profiles', () => {
  const { columns, rows } = tableWith(read(MODES), '`desktop`');
  const cell = (about: string, mode: string) => {
    const column = columns.find((name) => name.startsWith(`\`${mode}\``)) ?? '';
    const row = rows.find((each) => Object.values(each)[0]?.startsWith(about));
    assert.ok(row, about);
    return row[column] ?? '';
  };
  for (const [mode, profile] of Object.entries(profiles)) {
    const { port, basePath, authentication, checksModelName, sampling, bodyLimit } = profile;
    const parameters: readonly string[] = parametersOf(profile);
    const yes = (is: boolean) => (is ? 'yes' : 'no');
    assert.is(cell('default port', mode), String(port), mode);
    assert.match(cell('base URL', mode), basePath || `:${port}/v1`);
    assert.is(cell('authentication', mode) !== 'none', authentication === 'key', mode);
    assert.is(cell('`model`', mode) === 'any string', !checksModelName, mode);
    assert.is(cell('`top_k`', mode), String(sampling.topK), mode);
    const penalty = terms(cell('penalty', mode))[0];
    assert.ok(parameters.includes(penalty ?? ''), `${mode}: ${penalty}`);
    assert.is(cell('`min_p`', mode), yes(parameters.includes('min_p')), mode);
    assert.is(cell('`Content-Type', mode).startsWith('demanded'), profile.demandsJsonContentType, mode);
    assert.is(cell('largest body', mode), `${bodyLimit / 2 ** 20} MiB`, mode);
    assert.is(cell('web pages', mode), profile.corsOrigins.includes('local') ? 'those of this machine' : 'none', mode);
    assert.is(cell('Host header', mode) === 'checked', profile.checksHostHeader, mode);
    assert.is(cell('images', mode), yes(profile.allowsLoopbackImageHosts), mode);
  }
});

test('the table of errors is the catalogue; a meaning may be followed by the option that it is about', () => {
  const documented = tableWith(read(HTTP), 'code', 'status', 'type').rows.map((row) => ({
    code: terms(row.code ?? '')[0] ?? '',
    status: Number(terms(row.status ?? '')[0] ?? row.status),
    type: terms(row.type ?? '')[0],
    meaning: row.meaning ?? '',
  }));
  const catalogue = Object.entries(ERRORS).map(([code, { status, type, meaning }]) => ({
    code,
    status,
    type,
    meaning,
  }));
  const said = (code: string) => ERRORS[code as keyof typeof ERRORS]?.meaning ?? '';
  assert.equal(
    documented.map(({ meaning, ...row }) => ({
      ...row,
      meaning: meaning.startsWith(said(row.code)) ? said(row.code) : meaning,
    })),
    catalogue,
  );
});

test('each code of the native side is in the catalogue', () => {
  const codes = [...read('native/core/error-code.h').matchAll(/"([a-z_]+)"/g)].map(([, code]) => code as string);
  assert.ok(codes.length > 0);
  assert.equal(
    codes.filter((code) => !(code in ERRORS)),
    [],
  );
});

test('each tier of tests has its row in CONTRIBUTING.md', () => {
  const tiers = [...read('test/run.mjs').matchAll(/^ +(?:\{ )?name: '([\w-]+)',/gm)].map(([, name]) => name as string);
  const present = tiers.filter((name) => files(`test/${name}`, /\.test\.ts$/).length > 0);
  const { rows } = tableWith(read('.github/CONTRIBUTING.md'), 'tier', 'cpu time');
  assert.equal(
    rows.map(({ tier = '' }) => terms(tier)[0]),
    present,
  );
});

test('files and folders that CONTRIBUTING.md names in its recipes exist', () => {
  const [, recipes = ''] = read('.github/CONTRIBUTING.md').split('## Recipes');
  const named = terms(recipes).filter((name) => /^(ts|native|test)\//.test(name));
  assert.ok(named.length > 20);
  assert.equal(
    named.filter((name) => !exists(name)),
    [],
  );
});

test.run();
