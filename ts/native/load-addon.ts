import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ChasquiError } from '../errors.js';
import type { Addon } from './addon.js';

export interface LoadedAddon {
  addon: Addon;
  /** The folder the addon came from; ggml's modules lie beside it. */
  directory: string;
}

const require = createRequire(import.meta.url);
const packageRoot = fileURLToPath(new URL('../../', import.meta.url));

let loaded: LoadedAddon | undefined;

/**
 * Finds and loads `chasqui.node`: a local build first, then a prebuilt one. Loads it once per thread.
 * @throws {ChasquiError} `addon_missing` with the platform, the reason and the way out.
 */
export function loadAddon(): LoadedAddon {
  loaded ??= load();
  return loaded;
}

function load(): LoadedAddon {
  try {
    const nodeGypBuild = require('node-gyp-build') as { path(directory: string): string };
    const path = nodeGypBuild.path(packageRoot);
    const addon = require(path) as Addon;
    // Node runs no cleanup hooks on process.exit(), but C++ static destructors: no thread may be decoding then.
    process.on('exit', () => addon.shutdown());
    return { addon, directory: dirname(path) };
  } catch (cause) {
    const reason = (cause as Error).message.split('\n')[0];
    throw new ChasquiError(
      'addon_missing',
      `chasqui's native part could not be loaded on ${process.platform}-${process.arch} (Node ${process.version}): ` +
        `${reason}. In a clone of the repository, \`npm run build\` builds it.`,
      null,
      { cause },
    );
  }
}
