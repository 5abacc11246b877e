// Dashboards, alert rules and documents name existing metrics, and all metrics are documented.
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CATALOGUE, fullName, type MetricName, type MetricRow } from '../../../ts/metrics/catalogue.js';
import { tables } from '../../house/markdown.js';

const test = suite('unit: what is said about metrics');

const read = (name: string) => readFileSync(`ts/metrics/${name}`, 'utf8');

interface Described {
  kind: string;
  labels: readonly string[];
}

const rows = (Object.keys(CATALOGUE) as MetricName[]).map((name): [string, MetricRow] => [
  fullName(name),
  CATALOGUE[name],
]);
const described = new Map<string, Described>(rows);

/** By every name that its samples go by. */
const sampled = new Map<string, readonly string[]>(
  rows.flatMap(([name, { kind, labels }]): [string, readonly string[]][] =>
    kind === 'histogram'
      ? [
          [`${name}_bucket`, [...labels, 'le']],
          [`${name}_sum`, labels],
          [`${name}_count`, labels],
        ]
      : [[name, labels]],
  ),
);

/** Every scrape adds these. */
const OF_SCRAPES = ['instance', 'job'];

/** Unknown metric names of an expression. */
function unknownIn(expression: string): string[] {
  const problems: string[] = [];
  const names = [...expression.matchAll(/\b(?:chasqui|process)_\w+/g)].map(([name]) => name);
  if (names.length === 0) problems.push(`no metric in ${expression}`);
  problems.push(...names.filter((name) => !sampled.has(name)));
  for (const [, name = '', matchers = ''] of expression.matchAll(/\b((?:chasqui|process)_\w+)\{([^}]*)\}/g)) {
    const asked = [...matchers.matchAll(/(\w+)\s*(?:=|!)~?/g)].map(([, label]) => label as string);
    const known = [...(sampled.get(name) ?? []), ...OF_SCRAPES];
    problems.push(...asked.filter((label) => !known.includes(label)).map((label) => `${name}{${label}}`));
  }
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(/,\s*/));
  const anywhere = [...names.flatMap((name) => sampled.get(name) ?? []), ...OF_SCRAPES];
  problems.push(...grouped.filter((label) => !anywhere.includes(label)).map((label) => `by ${label}`));
  return problems;
}

test('the check finds missing metrics', () => {
  assert.equal(unknownIn('sum by (x) (rate(chasqui_nothing{y=~"1"}[5m]))'), [
    'chasqui_nothing',
    'chasqui_nothing{y}',
    'by x',
  ]);
  assert.equal(unknownIn('chasqui_time_to_first_token_seconds'), ['chasqui_time_to_first_token_seconds']);
  assert.equal(unknownIn('up'), ['no metric in up']);
});

test('the dashboard asks for what there is', () => {
  const { panels, templating } = JSON.parse(read('grafana-dashboard.json')) as {
    panels: { targets?: { expr: string }[] }[];
    templating: { list: { name: string; query: string | { query: string } }[] };
  };
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  assert.ok(expressions.length > 20);
  assert.equal(expressions.flatMap(unknownIn), []);
  for (const { query } of templating.list) {
    if (typeof query !== 'string') assert.equal(unknownIn(query.query), []);
  }
  const variables = new Set(expressions.flatMap((text) => [...text.matchAll(/\$(\w+)/g)].map(([, name]) => name)));
  const known = [...templating.list.map(({ name }) => name), '__rate_interval'];
  assert.equal(
    [...variables].filter((name) => !known.includes(name as string)),
    [],
  );
});

test('the rules ask for what there is', () => {
  const expressions = [...read('alerts.yml').matchAll(/^ +expr: (.*)$/gm)].map(
    ([, expression]) => expression as string,
  );
  assert.is(expressions.length, read('alerts.yml').match(/- alert:/g)?.length);
  assert.equal(expressions.flatMap(unknownIn), []);
});

test('the page has every metric, with its kind and its labels, and no other', () => {
  const told = tables(read('README.md')).filter(({ columns }) => columns[0] === 'metric');
  const documented = told.flatMap(({ rows: lines }) =>
    lines.flatMap(({ metric = '', kind = '', labels = '' }) =>
      codes(metric).map((name): [string, Described] => [name, { kind, labels: codes(labels) }]),
    ),
  );
  const wanted = [...described].map(([name, { kind, labels }]): [string, Described] => [name, { kind, labels }]);
  const byName = ([one]: [string, unknown], [other]: [string, unknown]) => one.localeCompare(other);
  assert.equal(documented.sort(byName), wanted.sort(byName));
});

test("the engine's metrics have a table of their own", () => {
  const [, page = ''] = read('README.md').split('The engine reports these:');
  const [, source = ''] = /The engine keeps these[^\n]*\n([\s\S]*?)\n\n/.exec(read('catalogue.ts')) ?? [];
  const names = [...source.matchAll(/^ {2}(\w+):/gm)].map(([, name]) => `chasqui_${name}`);
  assert.ok(names.length > 5);
  assert.equal(
    names.filter((name) => !page.includes(`| \`${name}\` |`)),
    [],
  );
});

function codes(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string);
}

test.run();
