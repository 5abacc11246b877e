// The floors of ts/, from what people touch down to what computes: a file imports from its own folder and from floors
// below it. And no files anywhere import each other in a circle.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { circles, importGraph, loadedWith, resolveImport, specifiersOf } from './import-graph.ts';
import { files, offences, read } from './source-tree.ts';

const sources = files('ts', /\.(ts|mjs)$/);

/**
 * Folders and files of ts/, the highest floor first. Those on one floor do not import each other. Folders that are
 * planned have their floor before they exist.
 */
const floors = [
  ['cli.ts', 'index.ts'],
  ['cli', 'library'],
  ['desktop', 'cloud'],
  ['server'],
  ['api'],
  ['http'],
  ['profiles', 'metrics', 'keys', 'mcp'],
  ['models'],
  ['hub', 'updates'],
  ['engine'],
  ['documents'],
  ['images'],
  ['native'],
  ['process'],
  ['options'],
  ['sqlite.ts'],
  ['errors.ts', 'own-call.ts', 'version.ts'],
];

/** The folder under ts/ that a file lies in, or the file itself where it lies in none. */
function room(file: string): string {
  return file.split('/')[1] as string;
}

function floorOf(file: string): number {
  return floors.findIndex((rooms) => rooms.includes(room(file)));
}

/** Every import that breaks a rule, as `file imports what`. */
function brokenImports(breaks: (file: string, specifier: string, target: string | undefined) => boolean): string[] {
  return sources.flatMap((file) =>
    specifiersOf(file)
      .filter((specifier) => breaks(file, specifier, resolveImport(specifier, file)))
      .map((specifier) => `${file} imports ${specifier}`),
  );
}

test('there is something to check', () => {
  assert.ok(sources.length > 100);
  assert.ok(specifiersOf('ts/api/app.ts').includes('../models/pool.js'));
  assert.is(resolveImport('../models/pool.js', 'ts/api/app.ts'), 'ts/models/pool.ts');
});

test('every folder and file of ts/ has a floor', () => {
  const homeless = sources.filter((file) => floorOf(file) < 0).map(room);
  assert.equal([...new Set(homeless)], []);
});

test('imports run downwards only', () => {
  const upwards = brokenImports((file, _specifier, target) => {
    return target !== undefined && room(target) !== room(file) && floorOf(target) <= floorOf(file);
  });
  assert.equal(upwards, []);
});

test('every import of ours leads to a file', () => {
  assert.equal(
    brokenImports((_file, specifier, target) => specifier.startsWith('.') && target === undefined),
    [],
  );
});

test('a circle is found', () => {
  const graph = new Map([
    ['a', ['b', 'd']],
    ['b', ['c']],
    ['c', ['b']],
    ['d', []],
  ]);
  assert.equal(circles(graph), ['b -> c -> b']);
  graph.set('c', []);
  assert.equal(circles(graph), []);
});

test('no files import each other in a circle', () => {
  const all = ['ts', 'bench', 'test', 'native', 'vendor'].flatMap((folder) => files(folder, /\.(ts|mjs)$/));
  assert.equal(circles(importGraph(all)), []);
});

function packagesOf(loaded: readonly string[]): string[] {
  return loaded.filter((each) => !each.startsWith('ts/') && !each.startsWith('node:'));
}

test('a command is loaded when it is given: help needs no package but those that parse and print', () => {
  const loaded = [...loadedWith('ts/cli/program.ts')];
  assert.equal(packagesOf(loaded).sort(), ['commander', 'fastest-levenshtein']);
  assert.ok(loaded.includes('ts/cli/serve.ts') && !loaded.includes('ts/server/start.ts'));
});

test('the processes of a model are started before anything is loaded that does not start them', () => {
  const loaded = [...loadedWith('ts/cli.ts')];
  assert.ok(loaded.includes('ts/engine/child/child-scripts.ts') && loaded.length < 12);
  assert.equal(packagesOf(loaded), []);
});

test('a model loads before what serves it is imported, and the hub is asked by those who name it', () => {
  const loaded = [...loadedWith('ts/cli/serve/run-serve.ts')];
  assert.ok(loaded.includes('ts/engine/child/supervised-engine.ts'));
  assert.equal(
    packagesOf(loaded).filter((each) => each === 'fastify' || each === 'undici'),
    [],
  );
});

test('schemas import only schemas, tables of options and types', () => {
  const isSchema = (file: string) =>
    /^ts\/http\/(schema\/|error-body)|\/([a-z-]+-)?schema\.ts$|\/sampler-fields\.ts$/.test(file);
  const schemas = sources.filter((file) => ['api', 'http'].includes(room(file)) && isSchema(file));
  assert.ok(schemas.length > 20);
  const broken = schemas.flatMap((file) =>
    [...read(file).matchAll(/^(?:import|export)(?! type\b)[^'";]*?from '([^']+)'/gm)]
      .filter(
        ([, specifier = '']) => !isSchema(resolveImport(specifier, file) ?? '') && !specifier.includes('/options/'),
      )
      .map(([, specifier]) => `${file} imports ${specifier}`),
  );
  assert.equal(broken, []);
});

/** `ts/api/openai/chat/` of a file in it; undefined outside of endpoint folders. */
const endpointOf = (file: string) => /^ts\/api\/(?!shared\/)[^/]+\/[^/]+\/(?=.)/.exec(file)?.[0];

test('an endpoint folder imports no other one, so that each can be deleted', () => {
  const broken = brokenImports((file, _specifier, target = '') => {
    // The application registers all endpoints, and LM Studio's completions extend those of OpenAI.
    if (file === 'ts/api/app.ts' || file === 'ts/api/context.ts' || file.startsWith('ts/api/lmstudio/')) return false;
    return room(file) === 'api' && endpointOf(target) !== undefined && endpointOf(target) !== endpointOf(file);
  });
  assert.equal(broken, []);
});

/** Only server start-up selects a mode; all other code receives a profile. */
test('only ts/server, ts/cli, ts/library and the product of a mode know which hosting modes there are', () => {
  const choosers = ['profiles', 'server', 'cli', 'desktop', 'library'];
  const broken = brokenImports((file, _specifier, target = '') => {
    return !choosers.includes(room(file)) && room(target) === 'profiles' && target !== 'ts/profiles/profile.ts';
  });
  assert.equal(broken, []);
});

test('fastify is imported by ts/api, ts/http, ts/desktop and ts/cloud only', () => {
  const wire = ['api', 'http', 'desktop', 'cloud'];
  const broken = brokenImports((file, specifier) => {
    return !wire.includes(room(file)) && /^(@fastify\/|fastify)/.test(specifier);
  });
  assert.equal(broken, []);
});

test('the addon is loaded by ts/native only', () => {
  const broken = offences(sources, (line, file) => room(file) !== 'native' && /node-gyp-build|\.node['"]/.test(line));
  assert.equal(broken, []);
});

const hostFiles = ['ts/engine/child/main.ts', 'ts/cloud/start.ts'];
const hosts = (file: string) => ['server', 'cli', 'cli.ts'].includes(room(file)) || hostFiles.includes(file);

const withoutComments = (line: string) => line.replace(/^\s*(\/\/|\*|\/\*).*/, '');

test('only ts/server and the command line listen or end the process', () => {
  const broken = offences(sources, (line, file) => {
    return !hosts(file) && /\.listen\(|process\.exit\(/.test(withoutComments(line));
  });
  assert.equal(broken, []);
});

/** Errors name an option as the code does; the tables of options say what its flag is called. */
test('only the command line and the table of load options name flags', () => {
  // The others say how a module is built, and how other programs are started.
  const others = [
    'ts/native/backends.ts',
    'ts/cloud/script/evaluate.ts',
    'ts/desktop/window.ts',
    'ts/desktop/awake.ts',
  ];
  // Pods and containers are started by a command line, and clusters are reached by kubectl's.
  const isCommand = (file: string) => /^ts\/cloud\/(kubernetes|runners)\//.test(file);
  const allowed = (file: string) =>
    ['cli', 'cli.ts', 'options'].includes(room(file)) || others.includes(file) || isCommand(file);
  const broken = offences(sources, (line, file) => !allowed(file) && /(^|[\s`'"(])--[a-z]/.test(line));
  assert.equal(broken, []);
});

test('only they read the environment, and what finds modules, drivers, models and its own command', () => {
  const finds = ['ts/native/backends.ts', 'ts/native/probe-cache.ts', 'ts/library/resolve-model.ts', 'ts/own-call.ts'];
  const broken = offences(sources, (line, file) => {
    return !hosts(file) && !finds.includes(file) && /process\.env/.test(withoutComments(line));
  });
  assert.equal(broken, []);
});

test.run();
