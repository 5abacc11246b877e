/** Options of `chasqui serve` that say which devices the model goes to. Called as in llama.cpp. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type OffloadOptions, SPLIT_MODES } from '../engine/offload.js';
import { givenOptions } from './given-options.js';
import { parseCountOrZero } from './numbers.js';

export interface OffloadFlags {
  device?: string;
  gpuLayers?: number | 'auto' | 'all';
  splitMode?: (typeof SPLIT_MODES)[number];
  mainGpu?: number;
  tensorSplit?: number[];
  fitTarget?: number;
}

export function addOffloadOptions(command: Command): Command {
  return command
    .option(
      '--device <names>',
      'GPUs to compute on, as chasqui doctor names them, separated by commas; none: the CPU alone ' +
        '(default: all of the backend)',
    )
    .option(
      '--gpu-layers <n>',
      '-ngl for short: how many layers to put on GPUs, or all; auto: as many as fit into their free memory (default: auto)',
      parseGpuLayers,
    )
    .addOption(
      new Option(
        '--split-mode <mode>',
        'how several GPUs share: whole layers, a part of each row, or none: --main-gpu does everything (default: layer)',
      ).choices(SPLIT_MODES),
    )
    .option(
      '--main-gpu <index>',
      'with --split-mode none, the GPU to use, counted from 0 (default: 0)',
      parseCountOrZero,
    )
    .option('--tensor-split <shares>', "each GPU's share, such as 3,1 (default: by free memory)", parseShares)
    .option(
      '--fit-target <MiB>',
      'with --gpu-layers auto, memory to leave free on each GPU (default: 1024)',
      parseCountOrZero,
    );
}

/** A short name of several letters, as llama.cpp has it, is nothing that commander knows. */
export function spellOut(args: readonly string[]): string[] {
  return args.map((arg) => (arg === '-ngl' ? '--gpu-layers' : arg));
}

export function offloadSettings(flags: OffloadFlags): OffloadOptions {
  const { device, gpuLayers, splitMode, mainGpu, tensorSplit, fitTarget: fitTargetMiB } = flags;
  return givenOptions({ device, gpuLayers, splitMode, mainGpu, tensorSplit, fitTargetMiB });
}

function parseGpuLayers(text: string): number | 'auto' | 'all' {
  if (text === 'auto' || text === 'all') return text;
  try {
    return parseCountOrZero(text);
  } catch {
    throw new InvalidArgumentError('It must be a whole number, auto or all.');
  }
}

function parseShares(text: string): number[] {
  const shares = text.split(',');
  if (shares.every((share) => /^(\d+\.?\d*|\.\d+)$/.test(share))) return shares.map(Number);
  throw new InvalidArgumentError('It must be numbers separated by commas.');
}
