/** Prometheus' text format, read as strictly as its description has it: what is not well-formed throws. */

export interface MetricFamily {
  kind: string;
  help: string;
  samples: { name: string; labels: Record<string, string>; value: number }[];
}

export class Exposition {
  readonly families = new Map<string, MetricFamily>();

  constructor(text: string) {
    if (!text.endsWith('\n')) throw new Error('The last line does not end.');
    const seen = new Set<string>();
    for (const line of text.slice(0, -1).split('\n')) {
      const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) ([a-z_:0-9]+) (.*)$/.exec(line) ?? [];
      if (keyword === 'HELP') this.#open(name, rest);
      else if (keyword === 'TYPE') this.#last(name).kind = rest;
      else this.#add(line, seen);
    }
    for (const [name, family] of this.families) checkFamily(name, family);
  }

  /** The one sample with these labels, others not looked at; throws when there is none or more than one. */
  value(name: string, labels: Record<string, string> = {}): number {
    const found = this.samples(name).filter((sample) =>
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
    if (found.length !== 1) throw new Error(`${found.length} samples of ${name} with ${JSON.stringify(labels)}`);
    return found[0]?.value as number;
  }

  /** For a histogram, returns the samples with the suffixes `_bucket`, `_sum` and `_count`. */
  samples(name: string): MetricFamily['samples'] {
    return [...this.families.values()].flatMap(({ samples }) => samples.filter((sample) => sample.name === name));
  }

  #open(name: string, help: string): void {
    if (this.families.has(name)) throw new Error(`${name} is there twice.`);
    this.families.set(name, { kind: '', help, samples: [] });
  }

  #last(name: string): MetricFamily {
    const [last, family] = [...this.families].at(-1) ?? [];
    if (last !== name || !family) throw new Error(`${name} has its type in the wrong place.`);
    return family;
  }

  #add(line: string, seen: Set<string>): void {
    const [, name, labels = '', value = ''] = /^([a-z_:][a-z_:0-9]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`This is no line of the format: ${line}`);
    const series = `${name}{${labels}}`;
    if (seen.has(series)) throw new Error(`${series} is there twice.`);
    seen.add(series);
    const family = this.#last([...this.families.keys()].at(-1) ?? '');
    family.samples.push({ name, labels: readLabels(labels), value: readNumber(value) });
  }
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== '') {
    const [pair, name = '', value = ''] = /^([a-z_]+)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)/.exec(rest) ?? [];
    if (pair === undefined) throw new Error(`These are no labels: ${text}`);
    labels[name] = value.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped));
    rest = rest.slice(pair.length);
  }
  return labels;
}

function readNumber(text: string): number {
  const value = text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text);
  if (Number.isNaN(value)) throw new Error(`This is no number: ${text}`);
  return value;
}

function checkFamily(name: string, { kind, samples }: MetricFamily): void {
  if (!['counter', 'gauge', 'histogram'].includes(kind)) throw new Error(`${name} is a ${kind}.`);
  if (kind !== 'histogram') {
    if (samples.some((sample) => sample.name !== name)) throw new Error(`${name} has samples of another name.`);
    return;
  }
  let before = 0;
  for (const sample of samples) {
    if (sample.name !== `${name}_bucket`) continue;
    const isLast = sample.labels.le === '+Inf';
    if (sample.value < before) throw new Error(`${name} has a bucket with less than the one below it.`);
    before = isLast ? 0 : sample.value;
    const rest = Object.entries(sample.labels).filter(([label]) => label !== 'le');
    const counts = samples.filter(
      ({ name: other, labels }) => other === `${name}_count` && rest.every(([label, value]) => labels[label] === value),
    );
    if (isLast && counts[0]?.value !== sample.value) throw new Error(`${name} counts other than its last bucket.`);
  }
}
