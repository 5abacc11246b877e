/** `chasqui batch`: runs files of requests without a server. */
import { Command, Option } from 'commander';
import { LOAD_OPTIONS } from '../options/load-option-table.js';
import { BATCH_OPTIONS } from './batch/option-table.js';
import { addTableOptions } from './options/table-options.js';

const HELP = `
Each line of the file is a request with custom_id, url and body, as in OpenAI's
batches. Each line of the output is a reply. Run the command again after an
interruption: it skips the requests that the output already has.`;

export function batchCommand(): Command {
  const run = new Command('run')
    .description('Run the requests of a JSONL file and write their replies to another one.')
    .argument('<file>', 'JSONL file of requests')
    .addHelpOption(new Option('-h, --help', 'Show help').helpGroup('Help:'))
    .addHelpText('after', HELP)
    .action(async (file, parsed) => (await import('./batch/run-batch.js')).runBatch(file, parsed));
  return new Command('batch')
    .description('Run files of requests without a server.')
    .addCommand(addTableOptions(addTableOptions(run, BATCH_OPTIONS), LOAD_OPTIONS))
    .helpOption('-h, --help', 'Show help');
}
