/** `chasqui show`: facts of a model file, from its header. */
import fs from 'node:fs';
import type { Command } from 'commander';
import { findProjector } from '../engine/find-projector.js';
import { formatBytes } from '../hub/format-bytes.js';
import { type GgufHeader, readGgufFile } from '../hub/gguf-header.js';
import { describeHeader, type LocalModel } from '../hub/library.js';
import { labelOf } from '../hub/quantisations.js';
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
        const [header, local] = [await readGgufFile(file), await library.find(file)];
        const facts = factsOf(file, header, local, (mmproj ?? findProjector(file)) !== null);
        if (options.template) return `${facts.chat_template ?? ''}`;
        return options.json ? JSON.stringify(facts, null, 2) : toLines(facts);
      }),
    );
}

type Facts = Readonly<Record<string, string | number | readonly string[] | null>>;

function factsOf(file: string, header: GgufHeader, local: LocalModel | undefined, hasProjector: boolean): Facts {
  const { metadata } = header;
  const text = (key: string) => {
    const value = metadata.get(key);
    return typeof value === 'string' ? value : null;
  };
  const described = local ?? describeHeader(header, hasProjector, false);
  return {
    path: file,
    name: text('general.name'),
    architecture: described.architecture,
    parameters: described.parameters,
    quantization: local?.quantisation ?? labelOf(file) ?? FILE_TYPES[Number(metadata.get('general.file_type'))] ?? null,
    context_length: described.contextLength,
    size_bytes: local?.sizeBytes ?? fs.statSync(file).size,
    capabilities: described.capabilities,
    license: text('general.license'),
    chat_template: text('tokenizer.chat_template'),
  };
}

/** llama.cpp's numbers of the usual file types. */
const FILE_TYPES: Readonly<Record<number, string>> = {
  ...{ 0: 'F32', 1: 'F16', 2: 'Q4_0', 3: 'Q4_1', 7: 'Q8_0', 8: 'Q5_0', 9: 'Q5_1', 10: 'Q2_K', 11: 'Q3_K_S' },
  ...{ 12: 'Q3_K_M', 13: 'Q3_K_L', 14: 'Q4_K_S', 15: 'Q4_K_M', 16: 'Q5_K_S', 17: 'Q5_K_M', 18: 'Q6_K', 32: 'BF16' },
};

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
