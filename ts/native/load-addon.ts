import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { ChasquiError } from '../errors.js';
import { ownCall } from '../own-call.js';
import type { Addon } from './addon.js';
import { findPackage, installCommand, packageRoot, platform, platformPackage } from './packages.js';

export interface LoadedAddon {
  addon: Addon;
  path: string;
  /** The folder of the addon and of ggml's modules. */
  directory: string;
}

/** A place without a usable addon, and the reason. */
export interface FailedPlace {
  place: string;
  reason: string;
}

const require = createRequire(import.meta.url);
const nodeGypBuild = require('node-gyp-build') as { path(directory: string): string };

let loaded: LoadedAddon | undefined;

/**
 * Finds and loads `chasqui.node`: a local build first, then the package of this platform. Loads it once per thread.
 * @throws {ChasquiError} `addon_missing`, in five lines: platform, reason for each place, and how to install it.
 */
export function loadAddon(): LoadedAddon {
  loaded ??= load();
  return loaded;
}

function load(): LoadedAddon {
  const failed: FailedPlace[] = [];
  const local = tryToLoad('a build of your own', () => packageRoot, failed);
  const result = local ?? tryToLoad(platformPackage, findPlatformPackage, failed);
  if (!result) throw missing(failed);
  // process.exit() runs no cleanup hooks, but C++ static destructors: no thread may be decoding then. When a worker thread
  // exits, its unfinished work continues until the main thread exits.
  process.on('exit', (code) => {
    if (!result.addon.shutdown() && isMainThread) result.addon.quit(code);
  });
  return result;
}

function tryToLoad(place: string, find: () => string, failed: FailedPlace[]): LoadedAddon | undefined {
  try {
    const path = nodeGypBuild.path(find());
    return { addon: require(path) as Addon, path, directory: dirname(path) };
  } catch (error) {
    failed.push({ place, reason: firstLine(error) });
    return undefined;
  }
}

function findPlatformPackage(): string {
  const { directory, problem } = findPackage(platformPackage);
  if (directory === undefined || problem !== undefined) throw new Error(problem);
  return directory;
}

function firstLine(error: unknown): string {
  const line = (error as Error).message.split('\n')[0] ?? '';
  return line.startsWith('No native build was found') ? 'there is none' : line;
}

function missing(failed: readonly FailedPlace[]): ChasquiError {
  const lines = [
    `chasqui's native part could not be loaded on ${platform} (Node ${process.version}):`,
    ...failed.map(({ place, reason }) => `  ${place}: ${reason}`),
    `To add it: ${installCommand(platformPackage)} (also when a lock file made on another system left it out)`,
    `To build it here: ${ownCall()} build. To see everything that was tried: ${ownCall()} doctor`,
  ];
  return new ChasquiError('addon_missing', lines.join('\n'), null, { cause: failed });
}
