const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** Formats bytes in powers of 1000, as the hub and disks count: `4.9 GB`. */
export function formatBytes(bytes: number): string {
  let value = Math.max(0, bytes);
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 9.95 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

/** Formats bytes in powers of 1024, as memory is measured: `512 MiB`, `4.9 GiB`. */
export function formatMemory(bytes: number): string {
  return bytes < 2 ** 30 ? `${Math.ceil(bytes / 2 ** 20)} MiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
