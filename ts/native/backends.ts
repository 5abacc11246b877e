/** Chooses ggml modules. A process loads them once, with its first model. */
import { ChasquiError, invalidOptions } from '../errors.js';
import { BACKENDS } from '../options/load-option-table.js';
import { ownCall } from '../own-call.js';
import type { NativeDevice } from './addon.js';
import { chooseModules, type ModuleChoice, type ModuleReport } from './choose-modules.js';
import { type LoadedAddon, loadAddon } from './load-addon.js';
import type { Backend } from './module-files.js';
import { findPackage, gpuPackages } from './packages.js';

const decisions = new Map<Backend | 'auto', Promise<ModuleReport[]>>();
/** Modules that this process has loaded, or will. */
let inUse: readonly ModuleReport[] | undefined;

/**
 * Returns the modules to load: at most one for a GPU, and one for the CPU.
 * @throws {ChasquiError} `backend_unavailable` if the wanted backend did not pass its probe, `addon_missing` if none did,
 * `invalid_options` if CHASQUI_BACKEND is unknown.
 */
export async function decideModules(backend?: Backend | 'auto'): Promise<string[]> {
  return (await decided(backend)).map(({ path }) => path);
}

/**
 * Returns the modules of this process, and their GPUs. GPUs that use main memory are left out.
 * Rejects as `decideModules` does, and with `backend_unavailable` if this process uses another backend.
 */
export async function useModules(backend?: Backend | 'auto'): Promise<{ modules: string[]; gpus: NativeDevice[] }> {
  const wanted = await decided(backend);
  inUse ??= wanted;
  if ((backend ?? backendOfEnvironment()) !== 'auto') refuseOtherBackend(inUse, wanted);
  return {
    modules: inUse.map(({ path }) => path),
    gpus: inUse.flatMap(({ devices }) => devices.filter(({ type }) => type === 'gpu')),
  };
}

type Modules = readonly Pick<ModuleReport, 'backend'>[];

/** @throws {ChasquiError} `backend_unavailable` */
export function refuseOtherBackend(used: Modules, wanted: Modules): void {
  const [current, other] = [used, wanted].map(backendOf);
  if (current === other) return;
  const message = `This process already uses the backend \`${current}\`, so \`${other}\` cannot be used.`;
  throw new ChasquiError('backend_unavailable', `${message} Load one of the models with \`process: true\`.`, 'backend');
}

function backendOf(modules: Modules): Backend {
  return modules.find(({ backend }) => backend !== 'cpu')?.backend ?? 'cpu';
}

function decided(backend: Backend | 'auto' = backendOfEnvironment()): Promise<ModuleReport[]> {
  const decision = decisions.get(backend) ?? decide(backend);
  decisions.set(backend, decision);
  // The backend may be installed later.
  decision.catch(() => decisions.delete(backend));
  return decision;
}

function backendOfEnvironment(): Backend | 'auto' {
  const asked = process.env.CHASQUI_BACKEND || 'auto';
  const known = ['auto', ...BACKENDS].find((name) => name === asked);
  if (known !== undefined) return known as Backend | 'auto';
  throw invalidOptions(`CHASQUI_BACKEND is \`${asked}\`, but must be one of auto, ${BACKENDS.join(', ')}.`);
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
      `\`${ownCall()} doctor\` tries them all again, \`${ownCall()} build\` builds one for this machine.`,
  );
}

function unavailable(backend: Backend, { reports, notPossible }: ModuleChoice): ChasquiError {
  const own = reports.filter((report) => report.backend === backend);
  const missing = `there is no module for it; \`${ownCall()} build -- --backend ${backend}\` builds one where its toolkit is installed`;
  return new ChasquiError(
    'backend_unavailable',
    `The backend ${backend} cannot be used here: ${notPossible ?? (own.map(explain).join('; ') || missing)}. ` +
      `Leave the choice to chasqui with \`auto\`; \`${ownCall()} doctor\` shows what there is.`,
  );
}

function explain({ name, verdict, reason }: ModuleReport): string {
  return `${name}: ${reason ?? verdict}`;
}
