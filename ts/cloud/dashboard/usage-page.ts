/** Usage: totals, plots and a table, per app or per key. */

import { type Html, html } from '../../http/html.js';
import type { ApiKey } from '../../keys/key-store.js';
import type { UsageCounts, UsageRow } from '../accounts/usage-store.js';
import { shortNumber, wholeNumber } from './format.js';
import { BASE, emptyState, heading, type PageParts, type Viewer } from './page.js';

/** Time ranges: `count` steps of `hours` hours. */
export const RANGES = {
  day: { label: '24 hours', hours: 1, count: 24 },
  week: { label: '7 days', hours: 6, count: 28 },
  month: { label: '30 days', hours: 24, count: 30 },
  year: { label: '12 months', hours: 24 * 7, count: 53 },
} as const;

export interface UsageChoice {
  range: keyof typeof RANGES;
  by: 'app' | 'key';
}

export interface UsagePageParts {
  viewer: Viewer;
  choice: UsageChoice;
  /** Unix seconds. */
  from: number;
  to: number;
  rows: readonly UsageRow[];
  keys: readonly ApiKey[];
}

interface Group extends UsageCounts {
  label: string;
  /** Secondary label, such as the id of a key. */
  sub: string | null;
  rows: UsageRow[];
}

/** Number of series in a plot; more would be indistinguishable. */
const MAX_LINES = 6;

export function usagePage({ viewer, choice, from, to, rows, keys }: UsagePageParts): PageParts {
  const groups = groupsOf(rows, choice.by, keys);
  const total = sumOf(rows);
  const query = `range=${choice.range}&by=${choice.by}`;
  const csv = html`<a class="button quiet" href="${BASE}/usage.csv?${query}" download>Download CSV</a>`;
  const body = html`${heading('Usage', csv, 'Tokens and requests by app and key, delayed by a few seconds.')}
<div class="choices">${choicesOf(
    'Time',
    'range',
    choice,
    Object.entries(RANGES).map(([name, { label }]) => [name, label]),
  )}
${choicesOf('Per', 'by', choice, [
  ['app', 'App'],
  ['key', 'Key'],
])}</div>
${figures(total)}
${
  groups.length === 0
    ? emptyState('No usage', 'There were no requests to your apps in this period.')
    : html`${plots(groups, choice, from, to)}${table(groups, choice)}`
}`;
  return {
    title: 'Usage',
    at: 'usage',
    viewer,
    body,
    scripts: groups.length > 0 ? ['uPlot.iife.min.js', 'usage.js'] : [],
  };
}

function choicesOf(
  label: string,
  field: keyof UsageChoice,
  choice: UsageChoice,
  options: readonly (readonly string[])[],
): Html {
  return html`<nav class="segments" aria-label="${label}">${options.map(([value = '', text]) => {
    const query = new URLSearchParams({ ...choice, [field]: value }).toString();
    const isChosen = choice[field] === value;
    return html`<a href="${BASE}/usage?${query}"${isChosen ? html` aria-current="true"` : ''}>${text}</a>`;
  })}</nav>`;
}

function figures({ requests, failed, promptTokens, cachedTokens, completionTokens }: UsageCounts): Html {
  const share = (part: number, whole: number) => (whole === 0 ? null : `${Math.round((100 * part) / whole)} %`);
  const each: [label: string, value: number, under: string | null][] = [
    ['Requests', requests, failed > 0 ? `${share(failed, requests)} failed` : null],
    ['Prompt tokens', promptTokens, null],
    ['Cached prompt tokens', cachedTokens, share(cachedTokens, promptTokens)],
    ['Completion tokens', completionTokens, null],
  ];
  return html`<dl class="figures">${each.map(
    ([label, value, under]) =>
      html`<div><dt>${label}</dt><dd><span title="${wholeNumber(value)}">${shortNumber(value)}</span>${under && html`<small>${under}</small>`}</dd></div>`,
  )}</dl>`;
}

function groupsOf(rows: readonly UsageRow[], by: UsageChoice['by'], keys: readonly ApiKey[]): Group[] {
  const groups = new Map<string, UsageRow[]>();
  for (const row of rows) {
    const name = by === 'app' ? `${row.org}/${row.app}` : (row.keyId ?? '');
    const ofGroup = groups.get(name);
    if (ofGroup === undefined) groups.set(name, [row]);
    else ofGroup.push(row);
  }
  const named = new Map(keys.map(({ id, name }) => [id, name]));
  return [...groups]
    .map(([name, ofGroup]) => ({ ...labelOf(name, by, named), rows: ofGroup, ...sumOf(ofGroup) }))
    .sort((one, other) => tokensOf(other) - tokensOf(one) || other.requests - one.requests);
}

function labelOf(name: string, by: UsageChoice['by'], named: ReadonlyMap<string, string | null>) {
  if (by === 'app') return { label: name, sub: null };
  if (name === '') return { label: 'No key', sub: 'public apps' };
  const given = named.get(name) ?? null;
  return { label: given ?? name, sub: given === null ? null : name };
}

function tokensOf({ promptTokens, completionTokens }: UsageCounts): number {
  return promptTokens + completionTokens;
}

function sumOf(rows: readonly UsageCounts[]): UsageCounts {
  const sum = { requests: 0, failed: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, ms: 0 };
  for (const row of rows) {
    for (const name of Object.keys(sum) as (keyof UsageCounts)[]) sum[name] += row[name];
  }
  return sum;
}

/** The script reads the data from an attribute. The table below is the accessible alternative. */
function plots(groups: readonly Group[], { range }: UsageChoice, from: number, to: number): Html {
  const step = RANGES[range].hours * 3600;
  const times = Array.from({ length: Math.round((to - from) / step) }, (_, index) => from + index * step);
  const placeOf = ({ at }: UsageRow) => Math.floor((at - from) / step);
  const shown = groups.slice(0, MAX_LINES);
  const others = groups.slice(MAX_LINES).flatMap(({ rows }) => rows);
  const lines = [...shown, ...(others.length > 0 ? [{ label: 'All others', rows: others }] : [])];
  const plot = (title: string, value: (row: UsageRow) => number) => {
    const series = lines.map(({ label, rows }) => {
      const values = times.map(() => 0);
      for (const row of rows) values[placeOf(row)] = (values[placeOf(row)] ?? 0) + value(row);
      return { label, values };
    });
    return html`<figure class="card plot"><figcaption>${title}</figcaption>
<div data-plot="${JSON.stringify({ times, series, step })}" aria-hidden="true"></div></figure>`;
  };
  return html`<div class="plots">${plot('Tokens, prompt and completion', tokensOf)}${plot('Requests', ({ requests }) => requests)}</div>`;
}

function table(groups: readonly Group[], { by }: UsageChoice): Html {
  const number = (label: string, value: number) =>
    html`<td class="number" data-label="${label}">${wholeNumber(value)}</td>`;
  const caption = `Usage per ${by}`;
  return html`<div class="table" role="region" aria-label="${caption}" tabindex="0"><table class="cards"><caption class="unseen">${caption}</caption>
<thead><tr><th scope="col">${by === 'app' ? 'App' : 'Key'}</th>${[
    'Requests',
    'Failed',
    'Prompt',
    'Cached',
    'Completion',
  ].map((label) => html`<th scope="col" class="number">${label}</th>`)}</tr></thead>
<tbody>${groups.map(
    ({ label, sub, requests, failed, promptTokens, cachedTokens, completionTokens }) => html`<tr>
<th scope="row">${label}${sub && html`<span class="sub"><code>${sub}</code></span>`}</th>
${number('Requests', requests)}${number('Failed', failed)}${number('Prompt tokens', promptTokens)}
${number('Cached tokens', cachedTokens)}${number('Completion tokens', completionTokens)}</tr>`,
  )}</tbody></table></div>`;
}
