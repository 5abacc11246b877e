/** `chasqui rm`: deletes models of this computer, and unfinished downloads. */
import type { Command } from 'commander';
import { ChasquiError } from '../errors.js';
import { formatBytes } from '../hub/format-bytes.js';
import { findUnfinished, removeUnfinished } from '../hub/unfinished-downloads.js';
import { ownCall } from '../own-call.js';
import { type HubCommandOptions, libraryCommand, withHub } from './hub/hub-command.js';
import type { HubContext } from './hub/hub-context.js';

interface RemoveOptions extends HubCommandOptions {
  unfinished?: boolean;
}

interface Removed {
  /** What was deleted. */
  names: readonly string[];
  freedBytes: number;
}

export function rmCommand(): Command {
  return libraryCommand('rm', 'Delete a model from this computer; files shared with other models are kept.')
    .argument('<model>', 'Name of the model, as listed by chasqui ls; user/repo: all models of the repository')
    .option('--unfinished', 'Delete only the unfinished downloads of the repository')
    .action((id: string, options: RemoveOptions) =>
      withHub(options, async (hub) => {
        const { names, freedBytes } = await remove(hub, id, options);
        if (options.json) return JSON.stringify({ model: id, freed_bytes: freedBytes });
        return `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} deleted, which frees ${formatBytes(freedBytes)}.`;
      }),
    );
}

async function remove(hub: HubContext, id: string, { unfinished }: RemoveOptions): Promise<Removed> {
  if (unfinished) return found(await removeParts(hub, id), id);
  try {
    return { names: [id], ...(await hub.library.remove(id)) };
  } catch (error) {
    if (!(error instanceof ChasquiError) || error.code !== 'local_model_not_found') throw error;
    return found(await removeRepo(hub, id), id);
  }
}

/** Refuses before it deletes anything if a part is being downloaded. */
async function removeRepo(hub: HubContext, repo: string): Promise<Removed> {
  const parts = await removeParts(hub, repo);
  const models = (await hub.library.list()).filter((model) => model.source === 'hub' && isSame(model.repo, repo));
  let { freedBytes } = parts;
  for (const { id } of models) freedBytes += (await hub.library.remove(id)).freedBytes;
  return { names: [...models.map(({ id }) => id), ...parts.names], freedBytes };
}

async function removeParts({ settings }: HubContext, repo: string): Promise<Removed> {
  const own = findUnfinished(settings.cacheFolder).filter((each) => isSame(each.repo, repo));
  let freedBytes = 0;
  for (const each of own) freedBytes += await removeUnfinished(settings.cacheFolder, each.repo);
  return { names: own.map((each) => `unfinished ${each.repo}`), freedBytes };
}

/** @throws {ChasquiError} `local_model_not_found` if nothing was deleted */
function found(removed: Removed, id: string): Removed {
  if (removed.names.length > 0) return removed;
  const advice = `${ownCall()} ls lists the models and unfinished downloads.`;
  throw new ChasquiError('local_model_not_found', `Model ${id.slice(0, 200)} not found on this computer. ${advice}`);
}

function isSame(one: string | null, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}
