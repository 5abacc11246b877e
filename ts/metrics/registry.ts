/** Counters and histograms of a catalogue. A scrape adds the samples that are measured at that moment. */
import type { MetricName, MetricRow } from './catalogue.js';
import type { Family, Sample } from './exposition.js';
import { Counter, Histogram, SeriesByLabels } from './series.js';

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
    return find(this.#counters, name).with(...labels);
  }

  histogram(name: Name, ...labels: string[]): Histogram {
    return find(this.#histograms, name).with(...labels);
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

function find<Name, Series extends Counter | Histogram>(
  families: ReadonlyMap<Name, SeriesByLabels<Series>>,
  name: Name,
): SeriesByLabels<Series> {
  const family = families.get(name);
  if (!family) throw new TypeError(`The catalogue does not have ${name} as this kind of metric.`);
  return family;
}
