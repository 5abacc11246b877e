/** Common options of the commands for hub models and local models. */
import { Command } from 'commander';
import { withExitCode } from '../errors/exit-codes.js';
import { DATA_DIR } from '../options/hosting-option-table.js';
import { addTableOptions } from '../options/table-options.js';
import type { HubContext } from './hub-context.js';

export const HUB_HELP = `
HF_TOKEN holds a token of your account at the hub, for models that need one;
HF_ENDPOINT names another hub. Models are kept in the folder of LLAMA_CACHE, or
else of HF_HUB_CACHE, or else in hub in HF_HOME. HTTP_PROXY, HTTPS_PROXY and
NO_PROXY are heeded.`;

export interface HubCommandOptions {
  dataDir?: string;
  json?: boolean;
}

export function hubCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option('--json', 'Print JSON')
    .helpOption('-h, --help', 'Show help');
}

/** A command for local models. It needs `--data-dir`, which holds imported models. */
export function libraryCommand(name: string, description: string): Command {
  return addTableOptions(hubCommand(name, description), DATA_DIR);
}

/** Prints what `action` returns. */
export async function withHub(
  options: HubCommandOptions,
  action: (context: HubContext) => Promise<string>,
): Promise<void> {
  await withExitCode(async () => {
    const { hubContext } = await import('./hub-context.js');
    const context = hubContext(options.dataDir);
    try {
      console.log(await action(context));
    } finally {
      await context.client.close();
    }
  });
}
