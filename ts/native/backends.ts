/** Chooses the ggml modules of this process, once: when the first model is loaded. */
import { ChasquiError } from '../errors.js';
import { BACKENDS } from '../options/load-option-table.js';
import type { NativeDevice } from './addon.js';
import { chooseModules, type ModuleChoice, type ModuleReport } from './choose-modules.js';
import { type LoadedAddon, loadAddon } from './load-addon.js';
import type { Backend } from './module-files.js';
import { findPackage, gpuPackages } from './packages.js';

let chosen: Promise<ModuleReport[]> | undefined;

/**
 * Returns the modules to load: at most one for a GPU, and one for the CPU.
 * @throws {ChasquiError} `backend_unavailable` if the wanted backend did not pass its probe, `addon_missing` if none did,
 * `invalid_options` if CHASQUI_BACKEND is unknown.
 */
export async function decideModules(backend?: Backend | 'auto'): Promise<string[]> {
  return (await decided(backend)).map(({ path }) => path);
}

/** Returns the GPUs of these modules, except those that use main memory. Rejects as `decideModules` does. */
export async function decideGpus(backend?: Backend | 'auto'): Promise<NativeDevice[]> {
  return (await decided(backend)).flatMap(({ devices }) => devices.filter(({ type }) => type === 'gpu'));
}

function decided(backend: Backend | 'auto' = backendOfEnvironment()): Promise<ModuleReport[]> {
  chosen ??= decide(backend);
  // The next call may want another backend.
  chosen.catch(() => {
    chosen = undefined;
  });
  return chosen;
}

function backendOfEnvironment(): Backend | 'auto' {
  const asked = process.env.CHASQUI_BACKEND || 'auto';
  const known = ['auto', ...BACKENDS].find((name) => name === asked);
  if (known !== undefined) return known as Backend | 'auto';
  const message = `CHASQUI_BACKEND is \`${asked}\`, but must be one of auto, ${BACKENDS.join(', ')}.`;
  throw new ChasquiError('invalid_options', message);
}

async function decide(backend: Backend | 'auto'): Promise<ModuleReport[]> {
  const loaded = loadAddon();
  const choice = await chooseBackends(loaded, { backend });
  const modules = choice.reports.filter(({ verdict }) => verdict === 'chosen');
  if (!modules.some((module) => module.backend === 'cpu')) throw noneUsable(loaded, choice);
  if (backend !== 'auto' && !modules.some((module) => module.backend === backend)) throw unavailable(backend, choice);
  return modules;
}

export function chooseBackends(
  { addon, path, directory }: LoadedAddon,
  options: { backend?: Backend | 'auto'; fresh?: boolean } = {},
): Promise<ModuleChoice> {
  return chooseModules({
    ...options,
    addonPath: path,
    directories: [...gpuDirectories(), directory],
    score: (file) => addon.scoreModule(file),
  });
}

/** Folders of GPU modules, besides the addon's own. */
function gpuDirectories(): string[] {
  const installed = gpuPackages.map(findPackage).filter(({ problem }) => problem === undefined);
  const given = process.env.CHASQUI_MODULES;
  return [...(given ? [given] : []), ...installed.flatMap(({ directory }) => directory ?? [])];
}

function noneUsable({ directory }: LoadedAddon, choice: ModuleChoice): ChasquiError {
  const reasons = choice.reports.filter(({ backend }) => backend === 'cpu').map(explain);
  return new ChasquiError(
    'addon_missing',
    `None of the CPU modules in ${directory} can be used here: ${reasons.join('; ') || 'there are none'}. ` +
      '`npx chasqui doctor` tries them all again, `npx chasqui build` builds one for this machine.',
  );
}

function unavailable(backend: Backend, { reports, notPossible }: ModuleChoice): ChasquiError {
  const own = reports.filter((report) => report.backend === backend);
  const missing = `there is no module for it; \`npx chasqui build -- --backend ${backend}\` builds one where its toolkit is installed`;
  return new ChasquiError(
    'backend_unavailable',
    `The backend ${backend} cannot be used here: ${notPossible ?? (own.map(explain).join('; ') || missing)}. ` +
      'Leave the choice to chasqui with `auto`; `npx chasqui doctor` shows what there is.',
  );
}

function explain({ name, verdict, reason }: ModuleReport): string {
  return `${name}: ${reason ?? verdict}`;
}
