/** The models of an app whose files have been fetched already, as the first container of a pod leaves them in a file. */
import { readFileSync } from 'node:fs';
import type { RunnerModelFile } from '../cloud/runners/protocol.js';
import { ChasquiError } from '../errors.js';
import type { HostingOptions } from './hosting-option-table.js';

/** A script's options are far smaller. */
const MAX_LENGTH = 1 << 20;
const OTHERS = ['model', 'modelUrl', 'hf', 'modelsDir', 'modelsHub', 'modelsPreset'] as const;

/** Undefined: they are not given so. @throws {ChasquiError} `invalid_options` */
export function readAppModels({ appModels: file, ...options }: HostingOptions): RunnerModelFile[] | undefined {
  if (file === undefined) return undefined;
  const other = OTHERS.find((name) => options[name] !== undefined);
  if (other !== undefined) throw refused(`names all models of the app: leave \`${other}\` out`);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw refused(`cannot be read: ${(error as Error).message}`);
  }
  const models = text.length > MAX_LENGTH ? null : parse(text);
  if (models !== null) return models;
  throw refused(`is ${file}, which is no list of models, each with its modelPath and options`);
}

function parse(text: string): RunnerModelFile[] | null {
  try {
    const models: unknown = JSON.parse(text);
    return Array.isArray(models) && models.length > 0 && models.every(isModel) ? models : null;
  } catch {
    return null;
  }
}

/** Its options are checked when it is loaded. */
function isModel(value: unknown): value is RunnerModelFile {
  const { modelPath, options } = (value ?? {}) as Partial<Record<keyof RunnerModelFile, unknown>>;
  return typeof modelPath === 'string' && typeof options === 'object' && options !== null;
}

function refused(what: string): ChasquiError {
  return new ChasquiError('invalid_options', `\`appModels\` ${what}.`);
}
