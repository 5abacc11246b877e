// The import rule: ts/http -> ts/text, ts/responses, ts/anthropic -> ts/chat -> ts/engine -> ts/images -> ts/native, each
// importing rightwards only, and those between http and chat not each other.
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { files, offences } from './source-tree.ts';

const sources = files('ts', /\.ts$/);
const stages = [['http'], ['text', 'responses', 'anthropic'], ['chat'], ['engine'], ['images'], ['native']];

const stageOf = (name: string) => stages.findIndex((names) => names.includes(name));
const isStage = (name: string) => stageOf(name) >= 0;

function imported(line: string): string | undefined {
  return /(?:^|[\s})*])(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/.exec(line)?.[1];
}

/** The folder under ts/ that a file or an import of it lies in; undefined for ts/*.ts and for packages. */
function folder(name: string): string | undefined {
  const parts = name.split('/');
  return parts[0] === 'ts' && parts.length > 2 ? parts[1] : undefined;
}

function target(specifier: string, file: string): string | undefined {
  return specifier.startsWith('.') ? path.posix.join(path.posix.dirname(file), specifier) : undefined;
}

function importsBackwards(line: string, file: string): boolean {
  const specifier = imported(line);
  const from = folder(file);
  const to = folder((specifier && target(specifier, file)) ?? '');
  if (!from || !to || from === to) return false;
  if (isStage(from) && isStage(to)) return stageOf(to) <= stageOf(from);
  // The stages may know what a profile is, but not which ones there are, nor how they are started.
  return (isStage(from) || from === 'schemas') && (to === 'profiles' || to === 'server' || to === 'cli') && !isTypeImport(line);
}

function isTypeImport(line: string): boolean {
  return /^import type\b/.test(line);
}

test('there is something to check', () => assert.ok(sources.length > 0));

test('the stages of a request import rightwards only', () => {
  assert.equal(offences(sources, importsBackwards), []);
});

test('schemas import nothing but schemas and types', () => {
  const broken = offences(sources, (line, file) => {
    const to = folder(target(imported(line) ?? '', file) ?? '');
    return folder(file) === 'schemas' && to !== undefined && to !== 'schemas' && !isTypeImport(line);
  });
  assert.equal(broken, []);
});

test('fastify is imported by ts/http only', () => {
  const broken = offences(sources, (line, file) => {
    return folder(file) !== 'http' && /^(@fastify\/|fastify)/.test(imported(line) ?? '');
  });
  assert.equal(broken, []);
});

test('the addon is loaded by ts/native only', () => {
  const broken = offences(sources, (line, file) => folder(file) !== 'native' && /node-gyp-build|\.node['"]/.test(line));
  assert.equal(broken, []);
});

const hosts = (file: string) => folder(file) === 'server' || folder(file) === 'cli' || file === 'ts/cli.ts';

const withoutComments = (line: string) => line.replace(/^\s*(\/\/|\*|\/\*).*/, '');

test('only ts/server and the command line listen or end the process', () => {
  const broken = offences(sources, (line, file) => {
    return !hosts(file) && /\.listen\(|process\.exit\(/.test(withoutComments(line));
  });
  assert.equal(broken, []);
});

test('only they read the environment, and what finds modules and drivers', () => {
  const finds = ['ts/native/backends.ts', 'ts/native/verdicts.ts'];
  const broken = offences(sources, (line, file) => {
    return !hosts(file) && !finds.includes(file) && /process\.env/.test(withoutComments(line));
  });
  assert.equal(broken, []);
});

test.run();
