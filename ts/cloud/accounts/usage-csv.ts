/** Usage as a spreadsheet reads it. */
import type { UsageRow } from './usage-store.js';

const COLUMNS = [
  'from',
  'key_id',
  'org',
  'app',
  'requests',
  'failed',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
];

/** Every cell is a number, a time, or a name that the rules of keys and apps let begin with a letter or digit only. */
export function usageCsv(rows: readonly UsageRow[]): string {
  const lines = rows.map(({ at, keyId, org, app, requests, failed, promptTokens, cachedTokens, completionTokens }) =>
    [
      ...[new Date(at * 1000).toISOString(), keyId ?? '', cell(org), cell(app), requests, failed],
      ...[promptTokens, cachedTokens, completionTokens],
    ].join(','),
  );
  return `${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`;
}

/** Quoted, and never read as a formula, whatever a name may be one day. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
