/** The npm packages that chasqui is made of: this one, one for each platform, one for each GPU backend. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../version.js';

/** The folder of this package. */
export const packageRoot = fileURLToPath(new URL('../../', import.meta.url));

const require = createRequire(import.meta.url);

export const platformPackage = `@chasqui/${process.platform}-${process.arch}`;

/** Packages of this platform that hold one GPU module each, best first. */
export const gpuPackages = ['cuda13', 'cuda12', 'vulkan'].map((backend) => `${platformPackage}-${backend}`);

export interface InstalledPackage {
  name: string;
  /** Where it is; undefined when it is not installed. */
  directory?: string;
  version?: string;
  /** Why it cannot be used. */
  problem?: string;
}

/** The command that adds a package in the version that fits. */
export function installCommand(name: string): string {
  return `npm install ${name}@${VERSION}`;
}

/** Looks for a package where Node would: beside this one, and in the folders above. */
export function findPackage(name: string): InstalledPackage {
  let manifest: string;
  try {
    manifest = require.resolve(`${name}/package.json`);
  } catch {
    return { name, problem: 'it is not installed' };
  }
  const found = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  const installed = { name, directory: dirname(manifest), version: found.version };
  // Both sides of the addon's interface change together, and so does ggml's beneath its modules.
  if (found.version === VERSION) return installed;
  return { ...installed, problem: `it is version ${found.version}, and this is chasqui ${VERSION}` };
}
