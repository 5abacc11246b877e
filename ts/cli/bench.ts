/** `chasqui bench`: measures the speed of a model with one stream and with many. */
import { Command, Option } from 'commander';
import { BENCH_OPTIONS, COMPUTING_OPTIONS } from './bench/option-table.js';
import { addTableOptions } from './options/table-options.js';

const HELP = `
Rates are tokens a second, named as llama-bench names them: pp512 is a prompt of
512 tokens, tg128 a completion of 128. Leave the machine alone meanwhile.`;

export function benchCommand(): Command {
  const command = new Command('bench')
    .description('Measure the speed of a model on this machine, with one stream and with many.')
    .addHelpOption(new Option('-h, --help', 'Show help').helpGroup('Help:'))
    .addHelpText('after', HELP)
    .action(async (parsed) => (await import('./bench/run-bench.js')).runBench(parsed));
  return addTableOptions(addTableOptions(command, BENCH_OPTIONS), COMPUTING_OPTIONS);
}
