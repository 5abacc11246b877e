/** `chasqui import`: adds a model file from any folder of this computer. */
import { type Command, Option } from 'commander';
import { ChasquiError } from '../errors.js';
import type { ImportKind } from '../hub/library.js';
import { EXIT } from './errors/exit-codes.js';
import { type HubCommandOptions, libraryCommand, withHub } from './hub/hub-command.js';
import { toJson } from './output/json.js';
import { showLater, showProgress } from './output/progress.js';

interface ImportOptions extends HubCommandOptions {
  link?: boolean;
  symlink?: boolean;
  force?: boolean;
}

export function importCommand(): Command {
  return libraryCommand('import', 'Put a GGUF file among the models, with its other parts and its projector.')
    .argument('<file>', 'the model; any part of several')
    .addOption(new Option('--link', 'a second name of the same file, on the same disk').conflicts('symlink'))
    .option('--symlink', 'a link to the file, which must stay where it is')
    .option('--force', 'Replace an imported model with the same file name')
    .action((file: string, options: ImportOptions) =>
      withHub(options, async ({ library }) => {
        const how: ImportKind = options.link ? 'link' : options.symlink ? 'symlink' : 'copy';
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(EXIT.interrupted));
        const progress = showLater(showProgress(process.stderr, 'Copying the model'));
        const model = await library
          .import(file, how, options.force, progress.update)
          .catch(suggestForce)
          .finally(progress.clear);
        return options.json ? toJson(model, 2) : `${model.id} is among the models:\n  ${model.path}`;
      }),
    );
}

function suggestForce(error: unknown): never {
  if (!(error instanceof ChasquiError) || error.code !== 'model_exists') throw error;
  throw error.withMessage(`${error.message} --force replaces it.`, error.param);
}
