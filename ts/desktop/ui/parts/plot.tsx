/** A small time series plot by uPlot, with the last values as text. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { locale } from '../state/language.js';

export interface Series {
  label: string;
  /** One value per time; `null` is a gap. */
  values: readonly (number | null)[];
}

interface PlotProps {
  title: string;
  /** In seconds. */
  times: readonly number[];
  series: readonly Series[];
  format: (value: number) => string;
}

const height = 96;

export function Plot({ title, times, series, format }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const dark = useDarkness();
  const names = series.map(({ label }) => label).join();
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const made = new uPlot(optionsOf(element, series, format), [[]], element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [dark, names]);
  useEffect(() => {
    plot.current?.setData([[...times], ...series.map(({ values }) => [...values])]);
  });
  return (
    <figure class="plot">
      <figcaption>
        <span>{title}</span>
        <span class="plot-values">{lastValues(series, format)}</span>
      </figcaption>
      <div ref={place} class="plot-area" aria-hidden="true" />
    </figure>
  );
}

function lastValues(series: readonly Series[], format: (value: number) => string): string {
  const known = series.flatMap(({ label, values }) => {
    const last = values.findLast((value) => value !== null);
    return last === undefined || last === null ? [] : [series.length > 1 ? `${label} ${format(last)}` : format(last)];
  });
  return known.join(' · ') || '–';
}

function optionsOf(element: HTMLElement, series: readonly Series[], format: (value: number) => string): uPlot.Options {
  const style = getComputedStyle(element);
  const ink = style.color;
  const grid = { stroke: style.borderTopColor, width: 1 };
  const strokes = [style.outlineColor, style.textDecorationColor];
  const axis = { stroke: ink, grid, ticks: { show: false }, font: `11px ${style.fontFamily}` };
  return {
    width: element.clientWidth,
    height,
    cursor: { show: false },
    legend: { show: false },
    padding: [8, 4, 0, 0],
    scales: { y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [
      { ...axis, space: 62, size: 24, values: (_plot, splits) => splits.map((at) => timeOf(at, splits)) },
      { ...axis, space: 32, size: 54, values: (_plot, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...series.map(({ label }, index) => ({
        label,
        stroke: strokes[index] ?? ink,
        width: 1.5,
        points: { show: false },
        ...(index === 0 && { fill: style.backgroundColor }),
      })),
    ],
  };
}

/** Shows seconds if the ticks are less than a minute apart. */
function timeOf(at: number, [first = 0, second = first + 60]: readonly number[]): string {
  const withSeconds = second - first < 60 ? { second: '2-digit' as const } : {};
  return new Date(at * 1000).toLocaleTimeString(locale(), {
    hour12: false,
    hour: '2-digit',
    minute: '2-digit',
    ...withSeconds,
  });
}

/** A counter that increments when the colour scheme changes. */
function useDarkness(): number {
  const changes = useSignal(0);
  useEffect(() => {
    const change = () => {
      changes.value += 1;
    };
    const media = matchMedia('(prefers-color-scheme: dark)');
    media.addEventListener('change', change);
    const observer = new MutationObserver(change);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => {
      media.removeEventListener('change', change);
      observer.disconnect();
    };
  }, [changes]);
  return changes.value;
}
