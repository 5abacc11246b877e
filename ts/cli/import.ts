/** `chasqui import`: adds a model file from any folder of this computer. */
import { type Command, Option } from 'commander';
import type { ImportKind } from '../hub/library.js';
import { type HubCommandOptions, libraryCommand, withHub } from './hub/hub-command.js';

interface ImportOptions extends HubCommandOptions {
  link?: boolean;
  symlink?: boolean;
}

export function importCommand(): Command {
  return libraryCommand('import', 'Put a GGUF file among the models, with its other parts and its projector.')
    .argument('<file>', 'the model; any part of several')
    .addOption(new Option('--link', 'a second name of the same file, on the same disk').conflicts('symlink'))
    .option('--symlink', 'a link to the file, which must stay where it is')
    .action((file: string, options: ImportOptions) =>
      withHub(options, async ({ library }) => {
        const how: ImportKind = options.link ? 'link' : options.symlink ? 'symlink' : 'copy';
        const model = await library.import(file, how);
        return options.json ? JSON.stringify(model, null, 2) : `${model.id} is among the models:\n  ${model.path}`;
      }),
    );
}
