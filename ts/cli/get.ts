/** `chasqui get`: downloads a model from the hub, or lists its quantisations. */
import type { Command } from 'commander';
import { machineWithoutGpus, quickFit } from '../hub/fit.js';
import { formatBytes } from '../hub/format-bytes.js';
import { isHubName, parseModelName } from '../hub/model-name.js';
import { recommend } from '../hub/quantisation-advice.js';
import { PUBLISHERS } from '../hub/short-names.js';
import { ownCall } from '../own-call.js';
import { CommandFailed, EXIT } from './errors/exit-codes.js';
import { fetchHubModel, refuseTooLarge } from './hub/fetch-hub-model.js';
import { HUB_HELP, type HubCommandOptions, hubCommand, withHub } from './hub/hub-command.js';
import type { HubContext } from './hub/hub-context.js';
import { toJson } from './output/json.js';
import { textTable } from './output/table.js';

interface GetOptions extends HubCommandOptions {
  list?: boolean;
  anyArchitecture?: boolean;
  force?: boolean;
}

const NAME_HELP =
  'user/repo, user/repo:Q4_K_M, user/repo:file.gguf, the address of its page, or a short name: llama3.2';
const MAX_OFFERED = 8;

export function getCommand(): Command {
  return hubCommand('get', 'Download a model from the Hugging Face hub, or resume a download.')
    .argument('<model>', NAME_HELP)
    .option('--list', 'List the available quantisations without downloading')
    .option('--any-architecture', 'Download even if this llama.cpp does not support the architecture')
    .option('--force', 'Download even if the model is too large for this computer')
    .addHelpText('after', HUB_HELP)
    .action((name: string, options: GetOptions) =>
      withHub(options, async (hub) => {
        await refuseVagueName(hub, name);
        return options.list ? list(hub, name, options) : get(hub, name, options);
      }),
    );
}

/** @throws {CommandFailed} with the models of known publishers that have the name, if it is no full name */
async function refuseVagueName({ client }: HubContext, name: string): Promise<void> {
  const [text = ''] = name.split(':', 1);
  if (isHubName(name) || !/^[\w.-]{2,}$/.test(text)) return;
  const { models } = await client.search({ text, sort: 'downloads', limit: 100 });
  const known = models.filter(({ repo }) => PUBLISHERS.includes(repo.split('/', 1)[0] ?? '')).slice(0, MAX_OFFERED);
  if (known.length === 0) return;
  const commands = known.map(({ repo }) => `  ${ownCall()} get ${repo}`);
  throw new CommandFailed(EXIT.usage, `${name} can be one of several models. Choose one:\n${commands.join('\n')}`);
}

async function get(hub: HubContext, name: string, { json, anyArchitecture, force }: GetOptions): Promise<string> {
  if (!force) await refuseTooLarge(hub, name);
  const job = await fetchHubModel(hub, name, process.stderr, { ...(anyArchitecture && { anyArchitecture }) });
  if (json) return toJson(job, 2);
  return `${job.model} is here, ${formatBytes(job.totalBytes)}:\n  ${job.path}\nTo serve it: ${ownCall()} serve -hf ${job.model}`;
}

async function list({ client }: HubContext, name: string, { json }: GetOptions): Promise<string> {
  const model = await client.model(parseModelName(name).repo);
  const machine = machineWithoutGpus();
  const advice = recommend(model, machine);
  const quantisations = model.quantisations.map((quantisation, at) => ({
    ...quantisation,
    fit: quickFit({ ...model, ...quantisation }, machine),
    recommended: advice[at] ?? null,
  }));
  if (json) return toJson({ ...model, quantisations }, 2);
  if (quantisations.length === 0) return `${model.repo} has no model in GGUF files.`;
  const rows = quantisations.map(({ label, sizeBytes, words, fit, recommended }) => [
    label,
    formatBytes(sizeBytes),
    fit.badge === 'too-large' ? 'no' : 'yes',
    `${recommended === null ? '' : `${recommended.toUpperCase()}: `}${words}`,
  ]);
  const gated = model.gated ? `\n\nAccess has to be asked for: ${client.pageOf(model.repo)}` : '';
  return `${textTable([['QUANT', 'SIZE', 'FITS', ''], ...rows])}${gated}`;
}
