/** `chasqui show`: facts of a model file, from its header. */
import type { Command } from 'commander';
import { formatBytes } from '../hub/format-bytes.js';
import { inspectModel, type ModelFacts } from '../hub/inspect-model.js';
import type { LocalModel } from '../hub/library.js';
import { findNamed } from './hub/find-model.js';
import { type HubCommandOptions, libraryCommand, withHub } from './hub/hub-command.js';
import { printable } from './output/log-output.js';
import { inBillions } from './output/quantities.js';

interface ShowOptions extends HubCommandOptions {
  template?: boolean;
}

export function showCommand(): Command {
  return libraryCommand('show', 'Show the architecture, context, template and licence of a model.')
    .argument('<model>', 'A GGUF file, a name that chasqui ls lists, or demo')
    .option('--template', 'Print the chat template')
    .action((name: string, options: ShowOptions) =>
      withHub(options, async ({ library }) => {
        const { paths, mmproj } = await findNamed(name, options.dataDir);
        const [file = ''] = paths;
        const facts = toFacts(await inspectModel(file, mmproj), await library.find(file));
        if (options.template) return `${facts.chat_template ?? ''}`;
        return options.json ? JSON.stringify(facts, null, 2) : toLines(facts);
      }),
    );
}

type Facts = Readonly<Record<string, string | number | readonly string[] | null>>;

/** The library knows models by their names in the hub. */
function toFacts(facts: ModelFacts, local: LocalModel | undefined): Facts {
  const { path, name, architecture, contextLength, capabilities, license, chatTemplate } = facts;
  return {
    path,
    name,
    architecture,
    parameters: facts.parameters,
    quantization: local?.quantisation ?? facts.quantization,
    context_length: contextLength,
    size_bytes: local?.sizeBytes ?? facts.sizeBytes,
    capabilities,
    license,
    chat_template: chatTemplate,
  };
}

function toLines({ size_bytes: size, parameters, chat_template: template, ...others }: Facts): string {
  const shown = {
    ...others,
    parameters: inBillions(typeof parameters === 'number' ? parameters : null),
    size: typeof size === 'number' ? formatBytes(size) : null,
    chat_template: template === null ? null : `${String(template).length} characters; --template prints it`,
  };
  return Object.entries(shown)
    .map(([name, value]) => `${name.replace('_', ' ').padEnd(15)} ${printable([value].flat().join(', ') || '-')}`)
    .join('\n');
}
