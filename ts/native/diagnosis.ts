/** What `chasqui doctor` reports: everything that determines the modules used on this machine. */
import { cpus, release, totalmem } from 'node:os';
import { availableMemory } from '../process/process-usage.js';
import { VERSION } from '../version.js';
import { chooseBackends } from './backends.js';
import type { ModuleReport } from './choose-modules.js';
import { loadAddon } from './load-addon.js';
import { findPackage, type InstalledPackage, installCommand, platform, platformPackage } from './packages.js';

export interface PackageReport extends InstalledPackage {
  /** The command that installs the right version, if needed. */
  install?: string;
  /** False if a local build is used instead. */
  needed: boolean;
}

export interface Diagnosis {
  chasqui: string;
  node: string;
  platform: string;
  osRelease: string;
  cpu: string;
  memoryBytes: number;
  /** Free memory, within the limit of a container. */
  availableBytes: number;
  addon?: string;
  /** Why it could not be loaded: five lines. */
  problem?: string;
  packages: PackageReport[];
  modules: ModuleReport[];
  /** Why modules could not be tried. */
  notPossible?: string;
  /** Names of the modules that would be loaded, and the reason. */
  chosen: string[];
  because: string;
}

/** Tries every module again, and caches the results. */
export async function diagnose(): Promise<Diagnosis> {
  const machine = {
    chasqui: VERSION,
    node: process.version,
    platform,
    osRelease: release(),
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryBytes: totalmem(),
    availableBytes: availableMemory(),
  };
  try {
    const loaded = loadAddon();
    const choice = await chooseBackends(loaded, { fresh: true });
    return {
      ...machine,
      addon: loaded.path,
      packages: [withCommand(findPackage(platformPackage), !isLocal(loaded.path))],
      modules: choice.reports,
      ...(choice.notPossible !== undefined && { notPossible: choice.notPossible }),
      ...explainChoice(choice.reports),
    };
  } catch (error) {
    return {
      ...machine,
      problem: (error as Error).message,
      packages: [withCommand(findPackage(platformPackage), true)],
      modules: [],
      chosen: [],
      because: 'The native part could not be loaded.',
    };
  }
}

function isLocal(addonPath: string): boolean {
  return !addonPath.includes(platformPackage.replace('/', process.platform === 'win32' ? '\\' : '/'));
}

function withCommand(found: InstalledPackage, needed: boolean): PackageReport {
  return { ...found, needed, ...(found.problem !== undefined && { install: installCommand(found.name) }) };
}

function explainChoice(reports: readonly ModuleReport[]): Pick<Diagnosis, 'chosen' | 'because'> {
  const chosen = reports.filter(({ verdict }) => verdict === 'chosen');
  const gpu = chosen.find(({ backend }) => backend !== 'cpu');
  const cpu = chosen.find(({ backend }) => backend === 'cpu');
  if (!cpu) return { chosen: [], because: 'No CPU module can be used, and without one nothing can be computed.' };
  const cpuReason = `${cpu.name} is the best CPU module that computes rightly here`;
  const gpuReason = gpu ? `${gpu.name} is the best GPU module that does` : 'no GPU module passed';
  return { chosen: chosen.map(({ name }) => name), because: `${cpuReason}; ${gpuReason}.` };
}
