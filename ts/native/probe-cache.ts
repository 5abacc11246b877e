/**
 * Caches the results of probes in the user's cache folder: a module is tried again after its file, the CPU or a driver has
 * changed. If the folder is not writable, every process tries the modules.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { cpus, homedir, release } from 'node:os';
import { dirname, join } from 'node:path';
import type { ProbeResult, ProbeTask } from './probe-child.js';

/** Failures expire, because their cause may have been temporary. */
const FAILURE_KEPT_MS = 3_600_000;
/** The oldest results are dropped, because their modules may be gone. */
const MAX_KEPT = 200;

/** Variables that determine the driver and device of a module. An empty CUDA_VISIBLE_DEVICES hides all devices. */
const DRIVER_SETTINGS = ['CUDA_VISIBLE_DEVICES', 'GGML_VK_VISIBLE_DEVICES', 'LD_LIBRARY_PATH', 'VK_DRIVER_FILES'];

interface Kept {
  at: number;
  result: ProbeResult;
}

export class ProbeCache {
  readonly #file: string;
  readonly #machine = describeMachine();
  readonly #kept: Record<string, Kept>;
  #changed = false;

  constructor(file = join(cacheFolder(), 'modules.json')) {
    this.#file = file;
    this.#kept = read(file);
  }

  /**
   * A key that changes with the files of module and addon, the CPU, the operating system and the drivers. It is computed at
   * each start of a model, so the files, which may have hundreds of megabytes, are identified without reading them.
   */
  key(task: ProbeTask, path: string, addonPath: string): string {
    const about = [task, this.#machine, identify(path), identify(addonPath)];
    return createHash('sha256').update(JSON.stringify(about)).digest('hex');
  }

  get(key: string): ProbeResult | undefined {
    const kept = this.#kept[key];
    if (!kept || (kept.result.reason !== undefined && Date.now() - kept.at > FAILURE_KEPT_MS)) return undefined;
    return kept.result;
  }

  set(key: string, result: ProbeResult): void {
    this.#kept[key] = { at: Date.now(), result };
    this.#changed = true;
  }

  save(): void {
    if (!this.#changed) return;
    const newest = Object.entries(this.#kept).sort(([, a], [, b]) => b.at - a.at);
    try {
      mkdirSync(dirname(this.#file), { recursive: true });
      const written = `${this.#file}.${process.pid}`;
      writeFileSync(written, JSON.stringify(Object.fromEntries(newest.slice(0, MAX_KEPT))));
      renameSync(written, this.#file);
    } catch {
      // Without the cache, each process probes again.
    }
  }
}

/**
 * npm gives all files of a package the same mtime. Writing or replacing a file always changes its ctime, which cannot be set.
 */
function identify(file: string): string {
  const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
  return [file, ino, size, mtimeNs, ctimeNs].join(' ');
}

function read(file: string): Record<string, Kept> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, Kept>;
  } catch {
    return {};
  }
}

function cacheFolder(): string {
  if (process.platform === 'win32') return join(homedir(), 'AppData', 'Local', 'chasqui');
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'chasqui');
  return join(homedir(), '.cache', 'chasqui');
}

function describeMachine(): (string | null)[] {
  const flags = /^(?:flags|Features)\s*:.*$/m.exec(readText('/proc/cpuinfo'))?.[0] ?? '';
  const drivers = ['/usr/share/vulkan/icd.d', '/etc/vulkan/icd.d'].flatMap(list);
  const settings = DRIVER_SETTINGS.map((name) => process.env[name] ?? null);
  return [cpus()[0]?.model ?? '', flags, release(), readText('/proc/driver/nvidia/version'), ...drivers, ...settings];
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => `${name} ${readText(join(folder, name))}`);
  } catch {
    return [];
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
