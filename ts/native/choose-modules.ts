/** Chooses ggml's modules by trying them, best first. */

import { GPU_BACKENDS } from '../options/load-option-table.js';
import type { NativeDevice } from './addon.js';
import { type Backend, findModules, type ModuleFile } from './module-files.js';
import { ProbeCache } from './probe-cache.js';
import type { ProbeResult, ProbeTask } from './probe-child.js';
import { ProbeNotPossible, runProbe } from './run-probe.js';

export interface ModuleReport extends ModuleFile {
  /**
   * `chosen`; `usable` but not needed; `failed` its probe, for `reason`; `unfit` for this CPU; `untried`, because a
   * better one was found first.
   */
  verdict: 'chosen' | 'usable' | 'failed' | 'unfit' | 'untried';
  reason?: string;
  devices: readonly NativeDevice[];
}

export interface ModuleChoice {
  /** In the order of the trials. */
  reports: ModuleReport[];
  /** Why no module could be tried; the CPU module was then chosen by its score alone. */
  notPossible?: string;
}

export interface ChoiceOptions {
  /** Folders of modules. */
  directories: readonly string[];
  addonPath: string;
  /** The only GPU backend to try; `cpu`: none; `auto`: the best that passes. */
  backend?: Backend | 'auto';
  /** Ignores cached results. */
  fresh?: boolean;
  cache?: ProbeCache;
  /** Used in this process if no child can be started. */
  score(path: string): number;
}

/** Chooses the first GPU module that passes its probe, and the best CPU module that does. */
export async function chooseModules(options: ChoiceOptions): Promise<ModuleChoice> {
  const files = findModules(options.directories);
  const cpuFiles = files.filter(({ backend }) => backend === 'cpu');
  const prober = new Prober(options);
  try {
    const wanted = GPU_BACKENDS.filter((name) => (options.backend ?? 'auto') === 'auto' || options.backend === name);
    const gpuFiles = wanted.flatMap((name) => files.filter(({ backend }) => backend === name));
    const gpu = await prober.firstGood(gpuFiles);
    const { fit, unfit } = await prober.rank(cpuFiles);
    const cpu = await prober.firstGood(fit);
    return { reports: [...gpu, ...cpu, ...unfit] };
  } catch (error) {
    if (!(error instanceof ProbeNotPossible)) throw error;
    return { reports: chooseByScore(cpuFiles, options.score), notPossible: error.message };
  } finally {
    prober.save();
  }
}

class Prober {
  readonly #cache: ProbeCache;

  constructor(private readonly options: ChoiceOptions) {
    this.#cache = options.cache ?? new ProbeCache();
  }

  save(): void {
    this.#cache.save();
  }

  async firstGood(files: readonly ModuleFile[]): Promise<ModuleReport[]> {
    const reports: ModuleReport[] = [];
    let found = false;
    for (const file of files) {
      if (found && !this.options.fresh) {
        reports.push({ ...file, verdict: 'untried', devices: [] });
        continue;
      }
      const [result = {}] = await this.#run('try', [file]);
      if (result.reason !== undefined) reports.push(failed(file, result.reason));
      else reports.push({ ...file, verdict: found ? 'usable' : 'chosen', devices: result.devices ?? [] });
      found ||= result.reason === undefined;
    }
    return reports;
  }

  /** Best first, then those that this CPU cannot run. */
  async rank(files: readonly ModuleFile[]): Promise<{ fit: ModuleFile[]; unfit: ModuleReport[] }> {
    const results = await this.#run('score', files);
    const scored = files.map((file, at) => ({ file, ...results[at] }));
    const fit = scored.filter(({ score = 0 }) => score > 0).sort((a, b) => (b.score ?? 0) - (a.score ?? 0));
    const others = scored.filter(({ score = 0 }) => score <= 0);
    return {
      fit: fit.map(({ file }) => file),
      unfit: others.map(({ file, reason }) => (reason === undefined ? unfit(file) : failed(file, reason))),
    };
  }

  async #run(task: ProbeTask, files: readonly ModuleFile[]): Promise<ProbeResult[]> {
    const { addonPath, fresh } = this.options;
    const keys = files.map(({ path }) => this.#cache.key(task, path, addonPath));
    const known = keys.map((key) => (fresh ? undefined : this.#cache.get(key)));
    const open = files.filter((_, at) => known[at] === undefined);
    const paths = open.map(({ path }) => path);
    const found = await runProbe(addonPath, task, paths);
    return files.map((file, at) => {
      const result = known[at] ?? found[open.indexOf(file)] ?? {};
      if (known[at] === undefined) this.#cache.set(keys[at] as string, result);
      return result;
    });
  }
}

function chooseByScore(files: readonly ModuleFile[], score: (path: string) => number): ModuleReport[] {
  const scored = files
    .map((file) => ({ file, score: scoreOrZero(file.path, score) }))
    .sort((a, b) => b.score - a.score);
  return scored.map(({ file, score: points }, at) => {
    if (points <= 0) return unfit(file);
    return { ...file, verdict: at === 0 ? 'chosen' : 'untried', devices: [] };
  });
}

function scoreOrZero(path: string, score: (path: string) => number): number {
  try {
    return score(path);
  } catch {
    return 0;
  }
}

function failed(file: ModuleFile, reason: string): ModuleReport {
  return { ...file, verdict: 'failed', reason, devices: [] };
}

function unfit(file: ModuleFile): ModuleReport {
  return { ...file, verdict: 'unfit', reason: 'this CPU lacks instructions that it needs', devices: [] };
}
