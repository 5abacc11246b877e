/** `chasqui ls` without a server: lists the models on this computer. */
import { readdirSync } from 'node:fs';
import { formatBytes } from '../../hub/format-bytes.js';
import type { LocalModel } from '../../hub/library.js';
import { findUnfinished } from '../../hub/unfinished-downloads.js';
import { findUpdate, type Update } from '../../hub/updates.js';
import { ownCall } from '../../own-call.js';
import { CommandFailed, EXIT } from '../errors/exit-codes.js';
import { toJson } from '../output/json.js';
import { inBillions } from '../output/quantities.js';
import { textTable } from '../output/table.js';
import type { HubContext } from './hub-context.js';

export interface LocalListOptions {
  json?: boolean;
  updates?: boolean;
}

/** `updates` queries the hub for each model that came from it. */
export async function listLocalModels(hub: HubContext, options: LocalListOptions): Promise<string> {
  for (const folder of [hub.settings.cacheFolder, hub.importFolder]) checkFolder(folder);
  const models = await hub.library.list();
  const found: (Update | null)[] = [];
  if (options.updates) for (const model of models) found.push(await findUpdate(hub.client, model));
  if (options.json) {
    return toJson(options.updates ? models.map((model, at) => ({ ...model, update: found[at] })) : models, 2);
  }
  const unfinished = unfinishedText(hub);
  if (models.length === 0 && unfinished === '')
    return `No models on this computer. Find some with ${ownCall()} search, download them with ${ownCall()} get.`;
  const rows = models.map((model, at) => [
    model.id,
    formatBytes(model.sizeBytes),
    inBillions(model.parameters),
    model.capabilities.join(' ') || '-',
    SOURCES[model.source],
    ...(options.updates ? [updateOf(found[at] ?? null)] : []),
  ]);
  const header = ['MODEL', 'SIZE', 'PARAMETERS', 'CAN', 'FROM', ...(options.updates ? ['UPDATE'] : [])];
  return [...(rows.length > 0 ? [textTable([header, ...rows])] : []), ...(unfinished ? [unfinished] : [])].join('\n\n');
}

function unfinishedText({ settings }: HubContext): string {
  const downloads = findUnfinished(settings.cacheFolder);
  if (downloads.length === 0) return '';
  const rows = downloads.map(({ repo, bytes, totalBytes }) => [
    repo,
    `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`,
  ]);
  const advice = `To resume one: ${ownCall()} get <model>\nTo delete one: ${ownCall()} rm --unfinished <user/repo>`;
  return `${textTable([['UNFINISHED DOWNLOADS', 'SIZE'], ...rows])}\n${advice}`;
}

/** The library skips folders that it cannot read. Those that do not exist yet are empty. */
function checkFolder(folder: string): void {
  try {
    readdirSync(folder);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT')
      throw new CommandFailed(EXIT.failed, `cannot read the models in ${folder}: ${message.split(', ')[0]}`);
  }
}

const SOURCES: Readonly<Record<LocalModel['source'], string>> = {
  hub: 'hub',
  lmstudio: 'LM Studio',
  ollama: 'Ollama',
  folder: 'folder',
};

function updateOf(update: Update | null): string {
  if (update === null) return '-';
  if (update.state === 'changed') return formatBytes(update.bytes);
  return update.state === 'gone' ? 'gone' : 'none';
}
