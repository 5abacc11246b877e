// Draws what the page of usage holds in its attributes, with uPlot.

const HEIGHT = 280;
const plots = [];

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function short(value) {
  return Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 }).format(value);
}

/** Columns are piled on each other: each line is drawn at the sum of those below it, the highest first. */
function piled(series) {
  const sums = series[0].values.map(() => 0);
  return series.map(({ values }) => {
    for (const [index, value] of values.entries()) sums[index] += value;
    return [...sums];
  });
}

function draw(place) {
  const { times, series, step } = JSON.parse(place.dataset.plot);
  const bars = uPlot.paths.bars({ size: [0.72, 44], radius: 0.12 });
  const lines = series.map(({ label, values }, index) => ({
    label,
    stroke: colour(`--plot-${index + 1}`),
    fill: colour(`--plot-${index + 1}`),
    width: 0,
    paths: bars,
    points: { show: false },
    value: (_plot, _sum, _line, at) => (at === null || at === undefined ? '–' : short(values[at])),
  }));
  const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } };
  const options = {
    width: place.clientWidth,
    height: HEIGHT,
    cursor: { points: { show: false }, drag: { x: false, y: false } },
    legend: { markers: { width: 0, fill: (_plot, line) => lines[lines.length - line]?.stroke } },
    scales: {
      x: { range: () => [times[0] - step / 2, times.at(-1) + step / 2] },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      { ...axis, grid: { show: false } },
      {
        ...axis,
        size: 56,
        values: (_plot, values) => values.map((value) => (Number.isInteger(value) ? short(value) : '')),
      },
    ],
    // The highest pile is drawn first, so that the lower ones stand before it.
    series: [{ label: step < 86400 ? 'From' : 'Day' }, ...lines.toReversed()],
  };
  place.replaceChildren();
  plots.push({ place, plot: new uPlot(options, [times, ...piled(series).toReversed()], place) });
}

function drawAll() {
  for (const { plot } of plots.splice(0)) plot.destroy();
  for (const place of document.querySelectorAll('[data-plot]')) draw(place);
}

drawAll();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
let resizing = 0;
addEventListener('resize', () => {
  cancelAnimationFrame(resizing);
  resizing = requestAnimationFrame(() => {
    for (const { place, plot } of plots) plot.setSize({ width: place.clientWidth, height: HEIGHT });
  });
});
