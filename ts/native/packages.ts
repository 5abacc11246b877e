/** The npm packages of chasqui: this one, one for each platform, one for each GPU backend. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../version.js';
import { unpacked } from './unpacked.js';

export const packageRoot = unpacked(fileURLToPath(new URL('../../', import.meta.url)));

const require = createRequire(import.meta.url);

/** Such as `linux-x64`, or `linux-x64-musl` where Node uses musl instead of glibc. */
export const platform = `${process.platform}-${process.arch}${usesMusl() ? '-musl' : ''}`;

export const platformPackage = `@chasqui/${platform}`;

/** Packages with one GPU module each, for this platform, best first. */
export const gpuPackages = ['cuda13', 'cuda12', 'vulkan'].map((backend) => `${platformPackage}-${backend}`);

/** Whether the loader of this process is musl's. */
function usesMusl(): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return readFileSync('/proc/self/maps', 'latin1').includes('ld-musl-');
  } catch {
    return false;
  }
}

export interface InstalledPackage {
  name: string;
  /** `undefined` if it is not installed. */
  directory?: string;
  version?: string;
  /** Why it cannot be used. */
  problem?: string;
}

export function installCommand(name: string): string {
  return `npm install ${name}@${VERSION}`;
}

/** Looks for a package where Node would. */
export function findPackage(name: string): InstalledPackage {
  let manifest: string;
  try {
    manifest = require.resolve(`${name}/package.json`);
  } catch {
    return { name, problem: 'it is not installed' };
  }
  const found = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  const installed = { name, directory: unpacked(dirname(manifest)), version: found.version };
  // The interfaces of addon and modules are not stable between versions.
  if (found.version === VERSION) return installed;
  return { ...installed, problem: `it is version ${found.version}, and this is chasqui ${VERSION}` };
}
