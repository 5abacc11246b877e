/** Formats counts and durations for terminals. */

/** Such as `8.0B`. */
export function inBillions(parameters: number | null): string {
  if (parameters === null) return '-';
  return parameters >= 1e9 ? `${(parameters / 1e9).toFixed(1)}B` : `${Math.round(parameters / 1e6)}M`;
}

/** Such as `1.2M`. */
export function inThousands(count: number): string {
  if (count >= 999_500) return `${(count / 1e6).toFixed(1)}M`;
  return count >= 1000 ? `${Math.round(count / 1000)}k` : String(count);
}

/** Such as `1 min 48 s`. */
export function inTime(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
