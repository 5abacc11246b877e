/** The GPUs of this machine, from the device files of their drivers. */
import fs from 'node:fs';

/** NVIDIA's, otherwise the render nodes of other drivers. */
const PATTERNS = [
  { folder: '/dev', name: /^nvidia\d+$/ },
  { folder: '/dev/dri', name: /^renderD\d+$/ },
];

/** Null where the number is unknown: Linux only. */
export function countGpus(): number | null {
  if (process.platform !== 'linux') return null;
  for (const { folder, name } of PATTERNS) {
    const found = namesIn(folder).filter((each) => name.test(each)).length;
    if (found > 0) return found;
  }
  return 0;
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}
