/** The GPUs of this machine, from the device files of their drivers, and their assignment to runners. */
import fs from 'node:fs';

/** NVIDIA's, otherwise the render nodes of other drivers. `variable` restricts a process to some of them. */
const DRIVERS = [
  { folder: '/dev', name: /^nvidia(\d+)$/, variable: 'CUDA_VISIBLE_DEVICES' },
  { folder: '/dev/dri', name: /^renderD(\d+)$/, variable: 'GGML_VK_VISIBLE_DEVICES' },
];

type Environment = Readonly<Record<string, string | undefined>>;

export interface Gpus {
  /** Values for the list in `variable`. */
  readonly ids: readonly string[];
  readonly variable: string;
}

/** Only those that `environment` leaves visible. Null where the GPUs are unknown: Linux only. */
export function findGpus(environment: Environment, namesIn = readFolder): Gpus | null {
  if (process.platform !== 'linux') return null;
  for (const { folder, name, variable } of DRIVERS) {
    const found = namesIn(folder).filter((each) => name.test(each));
    if (found.length === 0) continue;
    const visible = environment[variable]?.split(',').map((id) => id.trim());
    // CUDA ignores the list from the first invalid entry on, such as -1.
    const end = visible?.findIndex((id) => !/^[\w-]+$/.test(id) || id.startsWith('-')) ?? -1;
    return { ids: visible?.slice(0, end < 0 ? undefined : end) ?? found.map((_, index) => String(index)), variable };
  }
  return { ids: [], variable: '' };
}

/**
 * The GPUs of a new runner: `count` for itself, or without a number all that no runner has for itself. Null if too few are
 * free.
 */
export function assignGpus(
  { ids }: Gpus,
  count: number | null,
  reserved: readonly string[],
): { reserved: string[]; visible: string[] } | null {
  const free = ids.filter((id) => !reserved.includes(id));
  if (count === null) return { reserved: [], visible: free };
  const own = free.slice(0, count);
  return own.length < count ? null : { reserved: own, visible: own };
}

function readFolder(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}
