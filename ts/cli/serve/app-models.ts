/** Reads the `--app-models` file, which the init container of a pod writes after downloading the models of the app. */
import { readFileSync } from 'node:fs';
import type { RunnerModelFile } from '../../cloud/runners/protocol.js';
import { type ChasquiError, invalidOptions } from '../../errors.js';
import type { HostingOptions } from '../options/hosting-option-table.js';

/** Far more than the options of a script need. */
const MAX_LENGTH = 1 << 20;
const OTHERS = ['model', 'modelUrl', 'hf', 'modelsDir', 'modelsHub', 'allowDownloads', 'modelsPreset'] as const;

/** Returns undefined if the option was not set. @throws {ChasquiError} `invalid_options` */
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
  throw refused(`is ${file}, which is not a JSON array of models with modelPath and options`);
}

function parse(text: string): RunnerModelFile[] | null {
  try {
    const models: unknown = JSON.parse(text);
    return Array.isArray(models) && models.length > 0 && models.every(isModel) ? models : null;
  } catch {
    return null;
  }
}

/** Checks the structure only: options are checked when the model is loaded. */
function isModel(value: unknown): value is RunnerModelFile {
  const { modelPath, options } = (value ?? {}) as Partial<Record<keyof RunnerModelFile, unknown>>;
  return typeof modelPath === 'string' && typeof options === 'object' && options !== null;
}

function refused(what: string): ChasquiError {
  return invalidOptions(`\`appModels\` ${what}.`);
}
