/** The series of the catalogue's counters and histograms. A scrape adds the samples that are measured at its moment. */
import { CATALOGUE, fullName, type MetricName, type MetricRow } from './catalogue.js';
import type { Family, Sample } from './exposition.js';
import { Counter, Histogram, SeriesByLabels } from './series.js';

/** Samples that are measured at the moment of a scrape. */
export type CurrentSamples = Map<MetricName, Sample[]>;

export class Registry {
  readonly #counters = new Map<MetricName, SeriesByLabels<Counter>>();
  readonly #histograms = new Map<MetricName, SeriesByLabels<Histogram>>();

  constructor() {
    for (const name of Object.keys(CATALOGUE) as MetricName[]) {
      const { kind, labels, buckets = [] }: MetricRow = CATALOGUE[name];
      if (kind === 'counter') this.#counters.set(name, new SeriesByLabels(labels, () => new Counter()));
      if (kind === 'histogram') this.#histograms.set(name, new SeriesByLabels(labels, () => new Histogram(buckets)));
    }
  }

  counter(name: MetricName, ...labels: string[]): Counter {
    return of(this.#counters, name).with(...labels);
  }

  histogram(name: MetricName, ...labels: string[]): Histogram {
    return of(this.#histograms, name).with(...labels);
  }

  /** In the catalogue's order. */
  families(current: CurrentSamples): Family[] {
    return (Object.keys(CATALOGUE) as MetricName[]).map((name) => {
      const { kind, help }: MetricRow = CATALOGUE[name];
      const own = this.#counters.get(name) ?? this.#histograms.get(name);
      return { name: fullName(name), kind, help, samples: [...(own?.samples() ?? []), ...(current.get(name) ?? [])] };
    });
  }
}

function of<Series extends Counter | Histogram>(
  families: ReadonlyMap<MetricName, SeriesByLabels<Series>>,
  name: MetricName,
): SeriesByLabels<Series> {
  const family = families.get(name);
  if (!family) throw new TypeError(`The catalogue has ${name} as a ${CATALOGUE[name].kind}.`);
  return family;
}
