/** `chasqui search`: searches for models on the hub. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Fit, machineWithoutGpus, quickFit } from '../hub/fit.js';
import type { Capability, HubListedModel, HubSort } from '../hub/hub-types.js';
import { ownCall } from '../own-call.js';
import { HUB_HELP, type HubCommandOptions, hubCommand, withHub } from './hub/hub-command.js';
import type { HubContext } from './hub/hub-context.js';
import { toJson } from './output/json.js';
import { inBillions, inThousands } from './output/quantities.js';
import { textTable } from './output/table.js';

/** Bits per weight in Q4_K_M, the recommended quantisation. */
const USUAL_BITS = 4.89;

interface SearchOptions extends HubCommandOptions {
  sort: HubSort;
  author?: string;
  capability?: Capability;
  minSize?: number;
  maxSize?: number;
  fits?: boolean;
  limit: number;
  cursor?: string;
}

export function searchCommand(): Command {
  return hubCommand('search', 'Search the Hugging Face hub for models in GGUF files.')
    .argument('[text...]', 'Words in the model name')
    .addOption(
      new Option('--sort <order>', 'Sort order, descending')
        .choices(['trending', 'downloads', 'likes', 'modified', 'created'])
        .default('trending'),
    )
    .option('--author <name>', 'Only models of this account')
    .addOption(
      new Option('--capability <what>', 'Only models with this capability').choices([
        'chat',
        'tools',
        'vision',
        'embeddings',
      ]),
    )
    .option('--min-size <parameters>', 'Minimum number of parameters, such as 1B', toParameters)
    .option('--max-size <parameters>', 'Maximum number of parameters, such as 9B', toParameters)
    .option('--fits', 'Hide models that are too large for this computer')
    .option('--limit <n>', 'Models per page, at most 100', toLimit, 20)
    .option('--cursor <cursor>', 'Cursor of the next page, printed below the previous one')
    .addHelpText('after', HUB_HELP)
    .action((words: readonly string[], options: SearchOptions) =>
      withHub(options, (hub) => search(hub, words.join(' ') || undefined, options)),
    );
}

async function search({ client }: HubContext, text: string | undefined, options: SearchOptions): Promise<string> {
  const { sort, author, capability, limit, cursor, minSize, maxSize } = options;
  const query = { text, sort, author, capability, limit, cursor, minParameters: minSize, maxParameters: maxSize };
  const page = await client.search(query);
  const models = page.models
    .map((model) => ({ ...model, fit: fitOf(model) }))
    .filter(({ fit }) => !options.fits || fit?.badge !== 'too-large');
  if (options.json) return toJson({ models, next: page.next }, 2);
  if (models.length === 0)
    return page.next === null ? 'Nothing was found.' : `None of this page.${nextPage(page.next)}`;
  const rows = models.map(({ repo, parameters, downloads, likes, gated, fit }) => [
    repo,
    inBillions(parameters),
    inThousands(downloads),
    inThousands(likes),
    `${WORDS[fit?.badge ?? 'unknown']}${gated ? ', gated' : ''}`,
  ]);
  const table = textTable([['MODEL', 'SIZE', 'DOWNLOADS', 'LIKES', 'ON THIS COMPUTER'], ...rows]);
  return `${table}\n\nTo list the quantisations of a model: ${ownCall()} get --list <model>${page.next === null ? '' : nextPage(page.next)}`;
}

const WORDS: Readonly<Record<Fit['badge'] | 'unknown', string>> = {
  gpu: 'fits the GPU',
  'partly-gpu': 'partly on the GPU',
  cpu: 'fits',
  'too-large': 'too large',
  unknown: '-',
};

function nextPage(cursor: string): string {
  return `\nFor more, add: --cursor ${cursor}`;
}

/** Estimated size in Q4_K_M. */
function fitOf({ parameters, contextLength }: HubListedModel): Fit | null {
  if (parameters === null) return null;
  return quickFit({ sizeBytes: (parameters * USUAL_BITS) / 8, parameters, contextLength }, machineWithoutGpus());
}

function toParameters(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([KMBT]?)$/i.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError('It must be a number such as 8B, 0.6B or 500M.');
  return Number(number) * ({ '': 1, K: 1e3, M: 1e6, B: 1e9, T: 1e12 }[unit.toUpperCase()] ?? 1);
}

function toLimit(text: string): number {
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > 100) throw new InvalidArgumentError('It must be 1 to 100.');
  return limit;
}
