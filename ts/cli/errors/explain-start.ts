/** Explains why a server did not start, with facts about the port, the file or the memory. */
import { resolve } from 'node:path';
import { freePort, portOwner } from '../../desktop/ports.js';
import { readAdapterFiles } from '../../engine/adapter-file.js';
import { readGgufFile, sizeIn } from '../../engine/gguf-header.js';
import type { LoadOptions } from '../../engine/load-options.js';
import { sizeOfModel } from '../../engine/model-files.js';
import { ChasquiError } from '../../errors.js';
import { type ExactFit, exactFit } from '../../hub/exact-fit.js';
import { machineWithoutGpus, quickFit } from '../../hub/fit.js';
import { formatBytes } from '../../hub/format-bytes.js';
import { explainFailure } from './explain-failure.js';
import { describeFile, suggestNearbyFile } from './model-file-hints.js';

/** The settings of the failed start. */
export interface Tried {
  host?: string;
  port?: number;
  /** The model file, if there is exactly one. */
  path?: string | undefined;
  load?: LoadOptions;
}

export async function explainStart(error: unknown, tried: Tried): Promise<string> {
  const said = explainFailure(error, tried);
  if (isNodeError(error, 'EADDRINUSE') && tried.port !== undefined) return explainPort(tried.port, tried.host ?? '');
  if (!(error instanceof ChasquiError) || tried.path === undefined) return said;
  const more = await addDetails(error, tried.path, tried.load ?? {});
  return more === undefined ? said : `${said} ${more}`;
}

/** Returns the file that the error names: the model, or the value of an option. */
function fileOf({ message }: ChasquiError, model: string, { mmproj, draftModel, lora }: LoadOptions): string {
  const files = [mmproj, draftModel, ...readAdapterFiles(lora).map(({ path }) => path)];
  return files.find((file) => file && message.includes(resolve(file))) ?? model;
}

function isNodeError(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}

/** Names the process that uses the port, and a free port. */
export async function explainPort(port: number, host: string): Promise<string> {
  const owner = await portOwner(port);
  const free = await freePort(port);
  const used =
    owner === null
      ? 'is in use; stop the process that uses it'
      : `is used by ${owner.name} (process ${owner.pid}); stop it`;
  const other = free === null ? '' : `: ${free} is free`;
  return `port ${port} at ${host} ${used}, or choose another with --port${other}`;
}

async function addDetails(error: ChasquiError, path: string, load: LoadOptions): Promise<string | undefined> {
  switch (error.code) {
    case 'model_file_missing':
      return suggestNearbyFile(fileOf(error, path, load));
    case 'model_file_invalid':
      return describeFile(fileOf(error, path, load));
    case 'model_load_failed':
    case 'engine_failed':
    case 'out_of_memory':
      return explainMemory(path, load);
    default:
      return undefined;
  }
}

/** Defaults without `contextSize`. */
const USUAL_CONTEXT = 4096;
const USUAL_PARALLEL = 4;

/** As `explainMemory`, but asks llama.cpp only about files that may be too large. */
export async function warnOfMemory(path: string, load: LoadOptions): Promise<string | undefined> {
  const { contextSize: context, parallel = USUAL_PARALLEL } = load;
  const need = { sizeBytes: sizeOfModel(path) ?? 0, context: context && context * parallel };
  return quickFit(need, machineWithoutGpus()).badge === 'too-large' ? explainMemory(path, load) : undefined;
}

/** Suggests a context size that fits; `undefined` if memory is sufficient or the requirement is unknown. */
async function explainMemory(path: string, load: LoadOptions): Promise<string | undefined> {
  try {
    const { parallel = USUAL_PARALLEL } = load;
    const context =
      load.contextSize ?? Math.min(USUAL_CONTEXT, sizeIn(await readGgufFile(path), 'context_length') ?? USUAL_CONTEXT);
    const fit = await fitOf(path, context, parallel, load);
    if (fit.badge !== 'too-large') return undefined;
    const needs = `With ${parallel} × ${context} tokens of context it needs ${formatBytes(fit.needBytes)}, but only ${formatBytes(haveBytes(fit))} are free.`;
    return `${needs} ${await settingsThatFit(path, fit, parallel, load)}`;
  } catch {
    return undefined;
  }
}

async function settingsThatFit(path: string, fit: ExactFit, parallel: number, load: LoadOptions): Promise<string> {
  if (fit.contextThatFits > 0) return `--ctx-size ${fit.contextThatFits} fits.`;
  const alone = parallel > 1 ? await fitOf(path, fit.context, 1, load) : fit;
  if (alone.badge !== 'too-large') return '--parallel 1 fits.';
  if (alone.contextThatFits > 0) return `--parallel 1 --ctx-size ${alone.contextThatFits} fits.`;
  return 'No context size fits: choose a smaller model or quantisation.';
}

function fitOf(path: string, context: number, parallel: number, load: LoadOptions): Promise<ExactFit> {
  const { mmproj: projector, ...others } = load;
  const source = { path, ...(projector !== undefined && { projector }) };
  return exactFit(source, context, { load: { ...others, parallel, contextSize: context } });
}

function haveBytes({ devices }: ExactFit): number {
  return devices.reduce((sum, device) => sum + device.haveBytes, 0);
}
