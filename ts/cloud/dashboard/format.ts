/** Formats times and numbers. */
import { type Html, html } from '../../http/html.js';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function exactTime(unixSeconds: number): string {
  const date = new Date(unixSeconds * 1000);
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** A relative time with the exact time as its tooltip. */
export function timeTag(unixSeconds: number, now = Date.now() / 1000): Html {
  const exact = exactTime(unixSeconds);
  const machine = new Date(unixSeconds * 1000).toISOString();
  return html`<time datetime="${machine}" title="${exact}">${aboutTime(unixSeconds - now)}</time>`;
}

export function aboutTime(secondsFromNow: number): string {
  const distance = Math.abs(secondsFromNow);
  if (distance < 45) return secondsFromNow > 0 ? 'in a moment' : 'just now';
  const about = distance < 45 * MINUTE ? count(distance / MINUTE, 'minute') : longTime(distance);
  return secondsFromNow > 0 ? `in ${about}` : `${about} ago`;
}

function longTime(seconds: number): string {
  if (seconds < 22 * HOUR) return count(seconds / HOUR, 'hour');
  if (seconds < 60 * DAY) return count(seconds / DAY, 'day');
  return seconds < 700 * DAY ? count(seconds / (30.4 * DAY), 'month') : count(seconds / (365 * DAY), 'year');
}

/** `1 day`, `3 days`; at least 1, because smaller amounts use the smaller unit. */
export function count(amount: number, unit: string): string {
  const whole = Math.max(1, Math.round(amount));
  return `${whole} ${unit}${whole === 1 ? '' : 's'}`;
}

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

export function wholeNumber(value: number): string {
  return WHOLE.format(value);
}

export function shortNumber(value: number): string {
  return value < 10_000 ? WHOLE.format(value) : SHORT.format(value);
}

export function inBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 2 ** (10 * power);
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[power]}`;
}
