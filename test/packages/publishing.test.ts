// Packages for the registry: bills of materials, licences, and acceptance by npm.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { install, pack } from './installation.js';

const test = suite('packages: publishing');

interface Bill {
  bomFormat: string;
  metadata: { component: { name: string; version: string } };
  components: { name: string; version?: string; purl?: string; licenses?: unknown[] }[];
}

function read(name: string, file: string): string {
  return readFileSync(join(install(), 'node_modules', name, file), 'utf8');
}

function billOf(name: string): Bill {
  const bill = JSON.parse(read(name, 'sbom.cdx.json')) as Bill;
  assert.is(bill.bomFormat, 'CycloneDX');
  assert.is(bill.metadata.component.name, name);
  return bill;
}

function headings(notices: string): string[] {
  return [...notices.matchAll(/^(.+)\n={60}$/gm)].map(([, name = '']) => name);
}

const platform = `@chasqui/${process.platform}-${process.arch}`;

test('the bill of chasqui names its dependencies, and nothing that only its development needs', () => {
  const names = billOf('chasqui').components.map(({ name }) => name);
  const { dependencies } = JSON.parse(read('chasqui', 'package.json')) as { dependencies: Record<string, string> };
  assert.equal(
    Object.keys(dependencies).filter((name) => !names.includes(name)),
    [],
  );
  assert.not.ok(names.includes('uvu'));
});

test('packages in the scripts of the desktop app are in its bill, with their licences', () => {
  const { components } = billOf('chasqui');
  const notices = read('chasqui', 'NOTICES');
  assert.ok(headings(notices).includes('preact'));
  for (const name of headings(notices)) {
    const component = components.find((each) => each.name === name);
    assert.match(component?.purl ?? '', /^pkg:npm\//, name);
    assert.ok(component?.licenses?.length, name);
  }
});

test('the bill of the native part names each component of its notices, and the release of llama.cpp', () => {
  const { components } = billOf(platform);
  assert.equal(components.map(({ name }) => name).sort(), headings(read(platform, 'NOTICES')).sort());
  const llama = components.find(({ name }) => name === 'llama.cpp and ggml');
  assert.match(llama?.version ?? '', /^v\d/);
  assert.match(llama?.purl ?? '', /^pkg:github\/ggml-org\/llama\.cpp@[0-9a-f]{40}$/);
});

test('links in the pages of chasqui lead to files of the package', () => {
  const folder = join(install(), 'node_modules', 'chasqui');
  const pages = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.md'));
  assert.ok(pages.length > 20, `${pages}`);
  const missing = pages.flatMap((page) =>
    [...readFileSync(join(folder, page), 'utf8').matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/i.test(target) && !existsSync(join(folder, dirname(page), target)))
      .map((target) => `${page}: ${target}`),
  );
  assert.equal(missing, []);
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  assert.ok((readme.match(/\]\(docs\//g) ?? []).length >= 10, 'links to packed pages remain');
});

test('npm would publish each package', () => {
  for (const tarball of pack()) {
    const args = ['publish', '--dry-run', '--json', '--access', 'public', '--tag', 'test', tarball];
    const { status, stdout, stderr } = spawnSync('npm', args, { encoding: 'utf8' });
    assert.is(status, 0, `${basename(tarball)}: ${stderr}`);
    // For example "npm auto-corrected some errors in your package.json".
    const warnings = stderr.match(/^npm warn publish (?!This command requires you to be logged in).*/gim);
    assert.is(warnings, null, basename(tarball));
    assert.match(stdout, /"version": "\d/);
  }
});

test.run();
