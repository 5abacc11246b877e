/**
 * Counters and histograms of a catalogue. A scrape adds the samples that are measured at that moment. Updating a series costs
 * an addition, and for histograms a search among the buckets.
 */
import type { MetricName, MetricRow } from './catalogue.js';
import type { Family, Sample } from './exposition.js';

/** Samples that are measured at a scrape. */
export type CurrentSamples<Name = MetricName> = Map<Name, Sample[]>;

export class Registry<Name extends string> {
  readonly #counters = new Map<Name, SeriesByLabels<Counter>>();
  readonly #histograms = new Map<Name, SeriesByLabels<Histogram>>();

  constructor(catalogue: Readonly<Record<Name, MetricRow>>) {
    for (const [name, { kind, labels, buckets = [] }] of Object.entries<MetricRow>(catalogue) as [Name, MetricRow][]) {
      if (kind === 'counter') this.#counters.set(name, new SeriesByLabels(labels, () => new Counter()));
      if (kind === 'histogram') this.#histograms.set(name, new SeriesByLabels(labels, () => new Histogram(buckets)));
    }
  }

  counter(name: Name, ...labels: string[]): Counter {
    return (this.#counters.get(name) ?? wrongKind(name)).with(...labels);
  }

  histogram(name: Name, ...labels: string[]): Histogram {
    return (this.#histograms.get(name) ?? wrongKind(name)).with(...labels);
  }

  samples(name: Name): Sample[] {
    return (this.#counters.get(name) ?? this.#histograms.get(name))?.samples() ?? [];
  }
}

/** Families of registries that share a catalogue, in its order. `fullName` adds the prefix. */
export function toFamilies<Name extends string>(
  catalogue: Readonly<Record<Name, MetricRow>>,
  fullName: (name: Name) => string,
  registries: readonly Registry<Name>[],
  current: CurrentSamples<Name>,
): Family[] {
  return (Object.keys(catalogue) as Name[]).map((name) => {
    const { kind, help } = catalogue[name];
    const samples = [...registries.flatMap((registry) => registry.samples(name)), ...(current.get(name) ?? [])];
    return { name: fullName(name), kind, help, samples };
  });
}

function wrongKind(name: string): never {
  throw new TypeError(`The catalogue does not have ${name} as this kind of metric.`);
}

export class Counter {
  #value = 0;

  get value(): number {
    return this.#value;
  }

  add(amount = 1): void {
    this.#value += amount;
  }

  samples(labels: Readonly<Record<string, string>>): Sample[] {
    return [{ labels, value: this.#value }];
  }
}

export class Histogram {
  /** Number of values in each bucket alone. The last bucket is for values above all bounds. */
  readonly #counts: Float64Array;
  #sum = 0;

  /** `bounds` must ascend. */
  constructor(private readonly bounds: readonly number[]) {
    this.#counts = new Float64Array(bounds.length + 1);
  }

  get sum(): number {
    return this.#sum;
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] as number)) bucket++;
    (this.#counts[bucket] as number)++;
    this.#sum += value;
  }

  /** Buckets are cumulative in the exposition format. */
  samples(labels: Readonly<Record<string, string>>): Sample[] {
    let total = 0;
    const buckets = Array.from(this.#counts, (count, at): Sample => {
      total += count;
      const le = at < this.bounds.length ? String(this.bounds[at]) : '+Inf';
      return { suffix: '_bucket', labels: { ...labels, le }, value: total };
    });
    return [...buckets, { suffix: '_sum', labels, value: this.#sum }, { suffix: '_count', labels, value: total }];
  }
}

/**
 * The series of one family by label values. Bounds the memory: beyond `max` series, all further values share the series
 * with the label `other`.
 */
export class SeriesByLabels<Series extends Counter | Histogram> {
  readonly #max: number;
  readonly #series = new Map<string, { labels: Record<string, string>; series: Series }>();

  constructor(
    private readonly names: readonly string[],
    private readonly make: () => Series,
    max = 1000,
  ) {
    this.#max = max;
  }

  /** `values`: in the order of the names. */
  with(...values: readonly string[]): Series {
    const shown = values.map((value) => value.slice(0, MAX_LABEL_LENGTH));
    const key = shown.join('\0');
    const known = this.#series.get(key);
    if (known) return known.series;
    const isOther = values.every((value) => value === OTHER);
    if (this.#series.size >= this.#max && !isOther) return this.with(...values.map(() => OTHER));
    const labels = Object.fromEntries(this.names.map((name, at) => [name, shown[at] ?? '']));
    const series = this.make();
    this.#series.set(key, { labels, series });
    return series;
  }

  samples(): Sample[] {
    return Array.from(this.#series.values()).flatMap(({ labels, series }) => series.samples(labels));
  }
}

const OTHER = 'other';
const MAX_LABEL_LENGTH = 200;
