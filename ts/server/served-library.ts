/** The local models of a server that allows downloads and deletions. */
import path from 'node:path';
import type { ModelLibrary } from '../api/shared/model-library.js';
import { ChasquiError } from '../errors.js';
import { Downloads } from '../hub/downloads.js';
import type { LocalModel } from '../hub/library.js';
import type { HubContext } from '../hub/open-hub.js';
import { findEntry } from '../models/pool.js';
import { type ChangeableModels, ClientLibrary } from './client-library.js';
import type { ServedModels } from './open-pool.js';

/** Omits the models of other programs, which can disappear while they are served. */
export async function servedFrom({ library }: Pick<HubContext, 'library'>): Promise<LocalModel[]> {
  return (await library.list()).filter(({ source }) => source === 'hub' || source === 'folder');
}

export class ServedLibrary {
  private constructor(
    readonly clients: ModelLibrary,
    private readonly hub: HubContext,
    private readonly downloads: Downloads,
  ) {}

  /** Keeps its downloads in memory: a download that the stop interrupts resumes with the next request for it. */
  static async open(hub: HubContext, served: ServedModels): Promise<ServedLibrary> {
    const { client, settings } = hub;
    const downloads = await Downloads.open({ client, cacheFolder: settings.cacheFolder });
    return new ServedLibrary(new ClientLibrary({ downloads, models: toChangeable(hub, served) }), hub, downloads);
  }

  async close(): Promise<void> {
    await this.downloads.close();
    await this.hub.client.close();
  }
}

function toChangeable(hub: HubContext, served: ServedModels): ChangeableModels {
  const isServed = ({ id }: { id: string }) => findEntry(served.pool.list(), id) !== undefined;
  return {
    list: () => servedFrom(hub),
    refresh: async () => {
      for (const model of await servedFrom(hub)) if (!isServed(model)) served.add(model);
    },
    remove: async (id) => {
      const model = (await servedFrom(hub)).find((each) => each.id === id);
      if (model !== undefined && served.isFixed(model.path)) {
        throw new ChasquiError('not_deletable', `${id} was named at startup as ${path.basename(model.path)}.`, 'model');
      }
      if (model !== undefined && isServed(model)) await served.remove(id);
      return hub.library.remove(id);
    },
  };
}
