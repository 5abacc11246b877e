/** Packages for other platforms: cross-compiled, packed and installed beside a Node.js of the platform. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import * as assert from 'uvu/assert';
import { installInto } from '../packages/installation.js';
import { root } from './places.js';

interface Installation {
  /** npm packages to install beside chasqui, such as Node.js of the platform. */
  packages?: readonly string[];
  /** Variables for the compilers. */
  env?: NodeJS.ProcessEnv;
}

/** Returns the folder with `node_modules`. */
export function installFor(target: string, { packages: others = [], env = {} }: Installation = {}): string {
  const built = path.join(root, `build-${target}`, 'test-packages');
  const packages = path.join(built, 'packages');
  runTool(env, 'prebuild.mjs', '--backend', 'cpu', '--target', target, '--local-variants', '--out', built);
  runTool({}, 'pack.mjs', '--prebuilds', path.join(built, 'prebuilds'), '--out', packages);
  const tarballs = readdirSync(packages).map((name) => path.join(packages, name));
  const [os, cpu, libc] = target.split('-');
  // npm refuses packages for other processors without --force, and chooses optional dependencies by these options.
  const platform = [`--os=${os}`, `--cpu=${cpu}`, ...(libc ? [`--libc=${libc}`] : [])];
  const install = ['npm', 'install', '--ignore-scripts', '--prefer-offline', '--force', ...platform];
  return installInto(target, [...install, ...others, ...tarballs]);
}

function runTool(env: NodeJS.ProcessEnv, script: string, ...args: string[]): void {
  const tool = path.join(root, 'native', 'tooling', script);
  const result = spawnSync(process.execPath, [tool, ...args], { encoding: 'utf8', env: { ...process.env, ...env } });
  assert.is(result.status, 0, `${result.stdout}${result.stderr}`);
}
