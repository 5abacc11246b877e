/** A copy of this clone in JavaScript, for Node.js in Wine: tsx needs esbuild's program for Windows, which Wine 8 cannot run. */
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { transformSync } from 'esbuild';
import { installInto } from '../packages/installation.js';
import { root } from './places.js';
import { NODE_FOR_WINDOWS } from './win32-x64.js';

const copied = ['ts', 'test'];
const omitted = /^(\.git|build.*|dist)$/;

/** Returns the folder of the copy. Node.js is installed in the folder that contains it. */
export function mirrorForWine(): { mirror: string; parent: string } {
  const parent = installInto('windows unit tests', [
    'npm',
    'install',
    ...INSTALL,
    NODE_FOR_WINDOWS,
    libsqlForWindows(),
  ]);
  const mirror = path.join(parent, 'mirror');
  mkdirSync(mirror);
  for (const name of readdirSync(root)) {
    if (!copied.includes(name) && !omitted.test(name)) symlinkSync(path.join(root, name), path.join(mirror, name));
  }
  cpSync(path.join(root, 'ts'), path.join(mirror, 'ts'), { recursive: true });
  cpSync(path.join(root, 'dist'), path.join(mirror, 'ts'), { recursive: true });
  for (const folder of ['fuzz', 'house', 'support', 'unit']) compileFolder(mirror, path.join('test', folder));
  return { mirror, parent };
}

function compileFolder(mirror: string, folder: string): void {
  for (const entry of readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const from = path.join(entry.parentPath, entry.name);
    const to = path.join(mirror, path.relative(root, from));
    mkdirSync(path.dirname(to), { recursive: true });
    if (/(?<!\.d)\.ts$/.test(entry.name)) writeFileSync(to.replace(/\.ts$/, '.js'), compile(from));
    else cpSync(from, to);
  }
}

function compile(file: string): string {
  const { code } = transformSync(readFileSync(file, 'utf8'), { loader: 'ts', format: 'esm', target: 'node20' });
  return code.replaceAll(/(from ")(\.[^"]*)\.ts"/g, '$1$2.js"');
}

const INSTALL = ['--ignore-scripts', '--prefer-offline', '--os=win32', '--cpu=x64', '--force'];

/** In the version of the lockfile. */
function libsqlForWindows(): string {
  const name = '@libsql/win32-x64-msvc';
  const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'));
  return `${name}@${packages[`node_modules/${name}`].version}`;
}
