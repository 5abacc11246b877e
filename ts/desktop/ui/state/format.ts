import { formatNumber, locale, t } from './language.js';

const decimal = (value: number) => value.toLocaleString(locale(), { maximumFractionDigits: 1 });
/** Always with one decimal. */
export const oneDecimal = (value: number) =>
  value.toLocaleString(locale(), { minimumFractionDigits: 1, maximumFractionDigits: 1, useGrouping: false });
const units = ['B', 'KB', 'MB', 'GB', 'TB'];

/** Powers of 1000, as for disks and downloads. */
export function bytes(value: number): string {
  let size = value;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size >= 100 || unit === 0 ? Math.round(size) : oneDecimal(size)} ${units[unit]}`;
}

export function count(value: number): string {
  return formatNumber(value);
}

export function rate(value: number | null | undefined): string {
  return value === null || value === undefined ? '' : `${decimal(value)} tok/s`;
}

export function milliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (value < 1000) return `${Math.round(value)} ms`;
  return value < 60_000 ? `${oneDecimal(value / 1000)} s` : duration(value / 1000);
}

export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

export function clock(at: number): string {
  return new Date(at).toLocaleTimeString(locale(), { hour12: false });
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

export function age(at: number | string, now = Date.now()): string {
  const days = new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' });
  const gone = (now - new Date(at).getTime()) / 86_400_000;
  if (gone < 30) return days.format(-Math.floor(gone), 'day');
  return gone < 365 ? days.format(-Math.floor(gone / 30), 'month') : days.format(-Math.floor(gone / 365), 'year');
}

/** The time of today, or the date. */
export function dateTime(at: number): string {
  const style = new Date(at).toDateString() === new Date().toDateString() ? 'timeStyle' : 'dateStyle';
  return new Intl.DateTimeFormat(locale(), { [style]: style === 'timeStyle' ? 'short' : 'medium' }).format(at);
}

/** A heading for lists that are sorted by time. */
export function dayOf(at: number, now = Date.now()): string {
  const gone = Math.round((new Date(now).setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);
  if (gone <= 0) return t('today');
  if (gone === 1) return t('yesterday');
  return gone < 7 ? t('last7Days') : gone < 30 ? t('last30Days') : t('older');
}

export function parameters(value: number): string {
  if (value >= 1e9) return `${decimal(value / 1e9)}B`;
  return value >= 1e6 ? `${decimal(value / 1e6)}M` : count(value);
}

export function tokens(value: number): string {
  return value >= 1024 && value % 1024 === 0 ? `${value / 1024}k` : count(value);
}
