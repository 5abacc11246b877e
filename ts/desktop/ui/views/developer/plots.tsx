import { useSignal } from '@preact/signals';
import { Icon } from '../../parts/icon.js';
import { Plot } from '../../parts/plot.js';
import { type PlotPoint, points, withGaps } from '../../state/activity.js';
import { bytes, count, milliseconds, percent } from '../../state/format.js';

const spans: readonly [label: string, seconds: number][] = [
  ['Last 5 minutes', 300],
  ['Last 15 minutes', 900],
  ['Last hour', 3600],
];

/** One decimal for small shares, such as one short conversation. */
function finePercent(share: number): string {
  return share > 0 && share < 0.1 ? `${(share * 100).toFixed(1)} %` : percent(share);
}

export function Plots() {
  const span = useSignal(300);
  const from = (points.value.at(-1)?.at ?? 0) - span.value * 1000;
  const shown = withGaps(points.value.filter(({ at }) => at >= from));
  const times = shown.map(({ at }) => at / 1000);
  const values = (name: Exclude<keyof PlotPoint, 'at'>) => shown.map((point) => point[name] ?? null);
  return (
    <section class="card plots" aria-labelledby="plots-title">
      <header class="card-head">
        <h2 id="plots-title">Measurements</h2>
        <div class="row">
          <select
            aria-label="Time span"
            value={span.value}
            onChange={(event) => {
              span.value = Number(event.currentTarget.value);
            }}
          >
            {spans.map(([label, seconds]) => (
              <option key={seconds} value={seconds}>
                {label}
              </option>
            ))}
          </select>
          <a class="button quiet" href="/api/v1/metrics.csv" download="chasqui-metrics.csv">
            <Icon name="export" /> CSV
          </a>
        </div>
      </header>
      <div class="plot-grid">
        <Plot
          title="Tokens per second"
          times={times}
          format={(value) => value.toFixed(value < 10 ? 1 : 0)}
          series={[{ label: 'tok/s', values: values('tokensPerSecond') }]}
        />
        <Plot
          title="Time to first token"
          times={times}
          format={milliseconds}
          series={[
            { label: 'p50', values: values('ttftP50') },
            { label: 'p95', values: values('ttftP95') },
          ]}
        />
        <Plot
          title="Requests"
          times={times}
          format={count}
          series={[
            { label: 'running', values: values('running') },
            { label: 'waiting', values: values('queued') },
          ]}
        />
        <Plot
          title="KV cache in use"
          times={times}
          format={finePercent}
          series={[{ label: 'KV', values: values('kvUsage') }]}
        />
        <Plot
          title="Memory"
          times={times}
          format={bytes}
          series={[{ label: 'memory', values: values('memoryBytes') }]}
        />
      </div>
    </section>
  );
}
