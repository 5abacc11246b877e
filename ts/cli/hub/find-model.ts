/** Finds the model that a command names: a file, a model of `chasqui ls`, or one of the hub. Loads the hub lazily. */
import { existsSync } from 'node:fs';
import type { LoadOptions } from '../../engine/load-options.js';
import { ChasquiError } from '../../errors.js';
import { DEMO_MODEL, isDemo } from '../../hub/data-folder.js';
import type { LocalModel } from '../../hub/library.js';
import { isHubName } from '../../hub/model-name.js';
import { ownCall } from '../../own-call.js';

/** Model files, and the options that follow from their source. */
export interface FoundModels extends Pick<LoadOptions, 'alias' | 'mmproj'> {
  paths: readonly string[];
  /** The local library, if all of it is served. */
  library?: readonly LocalModel[];
}

/** Downloads a model of the hub that is not on this computer, if it fits into memory. Throws as `findNamed`. */
export async function findModel(name: string, dataDir: string | undefined): Promise<FoundModels> {
  return isHubName(name) ? findHubModel(name, dataDir, { refusesTooLarge: true }) : findNamed(name, dataDir);
}

/**
 * Finds a model by its path, or by a name that `chasqui ls` lists.
 * @throws {ChasquiError} `local_model_not_found`, except for file names that end in .gguf: loading reports these
 */
export async function findNamed(name: string, dataDir?: string): Promise<FoundModels> {
  if (existsSync(name) || /\.gguf$/i.test(name)) return { paths: [name] };
  const { hubContext } = await import('./hub-context.js');
  const { library, client } = hubContext(dataDir);
  await client.close();
  const local = await library.find(name);
  if (local !== undefined) return modelOf(local);
  if (isDemo(name)) return { paths: [DEMO_MODEL] };
  const advice = `${ownCall()} ls lists those that are, ${ownCall()} search finds others.`;
  throw new ChasquiError('local_model_not_found', `${name} is no file, and no model on this computer; ${advice}`);
}

/**
 * Returns the local model if there is one, without a request to the hub; `chasqui get` updates it.
 * @throws {ChasquiError} `local_model_not_found` if it is missing and `offline` is set
 */
export async function findHubModel(
  name: string,
  dataDir: string | undefined,
  { refusesTooLarge = false, offline = false } = {},
): Promise<FoundModels> {
  const { hubContext } = await import('./hub-context.js');
  const { fetchHubModel, refuseTooLarge } = await import('./fetch-hub-model.js');
  const hub = hubContext(dataDir);
  try {
    let local = (await hub.library.find(name)) ?? (await hub.library.findOfHub(name));
    if (local === undefined && offline) throw notDownloaded(name);
    if (local === undefined) {
      if (refusesTooLarge) await refuseTooLarge(hub, name);
      const { path: file } = await fetchHubModel(hub, name, process.stderr);
      local = await hub.library.find(file ?? '');
    }
    if (local === undefined)
      throw new ChasquiError('model_file_invalid', `${name} was downloaded, but cannot be read.`);
    return modelOf(local);
  } finally {
    await hub.client.close();
  }
}

/** Error for a model that needs a download despite `offline`. */
export function notDownloaded(name: string): ChasquiError {
  return new ChasquiError(
    'local_model_not_found',
    `${name} is not on this computer, and \`offline\` permits no download.`,
  );
}

/** Explicit, because the folder can contain the projectors of other models. */
function modelOf({ id, path: file, projector }: LocalModel): FoundModels {
  return { paths: [file], alias: [id], mmproj: projector };
}
