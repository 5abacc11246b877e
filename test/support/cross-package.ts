/** Packages for other platforms: cross-compiled, packed and installed beside a Node.js of the platform. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import * as assert from 'uvu/assert';
import { installInto } from '../packages/installation.js';
import { root } from './places.js';

/** Returns the folder with `node_modules`. `node`: the npm package of Node.js. */
export function installFor(target: string, node: string): string {
  const built = path.join(root, `build-${target}`, 'test-packages');
  const packages = path.join(built, 'packages');
  runTool('prebuild.mjs', '--backend', 'cpu', '--target', target, '--local-variants', '--out', built);
  runTool('pack.mjs', '--prebuilds', path.join(built, 'prebuilds'), '--out', packages);
  const tarballs = readdirSync(packages).map((name) => path.join(packages, name));
  const [os, cpu] = target.split('-');
  // npm refuses packages for other processors without --force, and chooses optional dependencies by --os and --cpu.
  const install = ['npm', 'install', '--ignore-scripts', '--prefer-offline', '--force', `--os=${os}`, `--cpu=${cpu}`];
  return installInto(target, [...install, node, ...tarballs]);
}

function runTool(script: string, ...args: string[]): void {
  const tool = path.join(root, 'native', 'tooling', script);
  const result = spawnSync(process.execPath, [tool, ...args], { encoding: 'utf8' });
  assert.is(result.status, 0, `${result.stdout}${result.stderr}`);
}
