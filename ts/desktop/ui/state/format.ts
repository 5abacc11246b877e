const number = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const units = ['B', 'KB', 'MB', 'GB', 'TB'];

/** Powers of 1000, as for disks and downloads. */
export function bytes(value: number): string {
  let size = value;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size >= 100 || unit === 0 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}

export function count(value: number): string {
  return value < 10_000 ? value.toLocaleString('en') : compact.format(value);
}

export function rate(value: number | null | undefined): string {
  return value === null || value === undefined ? '' : `${number.format(value)} tok/s`;
}

export function milliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (value < 1000) return `${Math.round(value)} ms`;
  return value < 60_000 ? `${(value / 1000).toFixed(1)} s` : duration(value / 1000);
}

export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

export function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB');
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

const days = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export function age(at: number | string, now = Date.now()): string {
  const gone = (now - new Date(at).getTime()) / 86_400_000;
  if (gone < 30) return days.format(-Math.floor(gone), 'day');
  return gone < 365 ? days.format(-Math.floor(gone / 30), 'month') : days.format(-Math.floor(gone / 365), 'year');
}

const time = new Intl.DateTimeFormat('en', { timeStyle: 'short' });
const date = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });

/** The time of today, or the date. */
export function dateTime(at: number): string {
  return (dayOf(at) === 'Today' ? time : date).format(at);
}

/** A heading for lists that are sorted by time. */
export function dayOf(at: number, now = Date.now()): string {
  const gone = Math.round((new Date(now).setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);
  if (gone <= 0) return 'Today';
  if (gone === 1) return 'Yesterday';
  return gone < 7 ? 'Last 7 days' : gone < 30 ? 'Last 30 days' : 'Older';
}

export function parameters(value: number): string {
  if (value >= 1e9) return `${number.format(value / 1e9)}B`;
  return value >= 1e6 ? `${number.format(value / 1e6)}M` : count(value);
}

export function tokens(value: number): string {
  return value >= 1024 && value % 1024 === 0 ? `${value / 1024}k` : count(value);
}
