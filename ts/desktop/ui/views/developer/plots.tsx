import { useSignal } from '@preact/signals';
import { Icon } from '../../parts/icon.js';
import { Plot } from '../../parts/plot.js';
import { Select } from '../../parts/select.js';
import { type PlotPoint, points, withGaps } from '../../state/activity.js';
import { bytes, count, milliseconds, oneDecimal, percent } from '../../state/format.js';
import { t } from '../../state/language.js';

/** In minutes. */
const spans = [5, 15, 60];

/** One decimal for small shares, such as one short conversation. */
function finePercent(share: number): string {
  return share > 0 && share < 0.1 ? `${oneDecimal(share * 100)} %` : percent(share);
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
        <h2 id="plots-title">{t('measurements')}</h2>
        <div class="row">
          <Select
            label={t('timeSpan')}
            value={span.value}
            options={spans.map((minutes) => [
              minutes * 60,
              minutes === 60 ? t('lastHour') : t('lastMinutes', { count: minutes }),
            ])}
            choose={(seconds) => {
              span.value = Number(seconds);
            }}
          />
          <a class="button quiet" href="/api/v1/metrics.csv" download="chasqui-metrics.csv">
            <Icon name="export" /> CSV
          </a>
        </div>
      </header>
      <div class="plot-grid">
        <Plot
          title={t('tokensPerSecond')}
          times={times}
          format={(value) => (value < 10 ? oneDecimal(value) : count(Math.round(value)))}
          series={[{ label: 'tok/s', values: values('tokensPerSecond') }]}
        />
        <Plot
          title={t('timeToFirstToken')}
          times={times}
          format={milliseconds}
          series={[
            { label: 'p50', values: values('ttftP50') },
            { label: 'p95', values: values('ttftP95') },
          ]}
        />
        <Plot
          title={t('requests')}
          times={times}
          format={count}
          series={[
            { label: t('running'), values: values('running') },
            { label: t('waiting'), values: values('queued') },
          ]}
        />
        <Plot
          title={t('kvCacheInUse')}
          times={times}
          format={finePercent}
          series={[{ label: 'KV', values: values('kvUsage') }]}
        />
        <Plot
          title={t('memory')}
          times={times}
          format={bytes}
          series={[{ label: t('memory'), values: values('memoryBytes') }]}
        />
      </div>
    </section>
  );
}
