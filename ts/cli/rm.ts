/** `chasqui rm`: deletes a model of this computer. */
import type { Command } from 'commander';
import { formatBytes } from '../hub/format-bytes.js';
import { type HubCommandOptions, libraryCommand, withHub } from './hub/hub-command.js';

export function rmCommand(): Command {
  return libraryCommand('rm', 'Delete a model from this computer; files shared with other models are kept.')
    .argument('<model>', 'Name of the model, as listed by chasqui ls')
    .action((id: string, options: HubCommandOptions) =>
      withHub(options, async ({ library }) => {
        const { freedBytes } = await library.remove(id);
        if (options.json) return JSON.stringify({ model: id, freed_bytes: freedBytes });
        return `${id} is deleted, which frees ${formatBytes(freedBytes)}.`;
      }),
    );
}
