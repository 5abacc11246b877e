// Draws the plots of the usage page with uPlot, from data attributes.

const HEIGHT = 280;
const plots = [];

/** Resolves a custom property, which may be a `light-dark()` pair, to a colour for the canvas. */
function colour(name) {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function short(value) {
  return Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 }).format(value);
}

/** UTC, like the stored sums. */
const FORMATS = {
  day: new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' }),
  hour: new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' }),
};

function axisLabel(seconds, step) {
  const date = new Date(seconds * 1000);
  const isMidnight = seconds % 86400 === 0;
  if (step >= 86400) return FORMATS.day.format(date);
  return isMidnight ? FORMATS.day.format(date) : FORMATS.hour.format(date);
}

function fullTime(seconds, step) {
  const date = new Date(seconds * 1000);
  return step >= 86400 ? FORMATS.day.format(date) : `${FORMATS.day.format(date)}, ${FORMATS.hour.format(date)}`;
}

/** Stacks the series: each is drawn at the sum of those below it, the highest first. */
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
      {
        ...axis,
        grid: { show: false },
        space: 64,
        incrs: [3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2419200, 4838400],
        values: (_plot, times) => times.map((time) => axisLabel(time, step)),
      },
      {
        ...axis,
        size: 56,
        values: (_plot, values) => values.map((value) => (Number.isInteger(value) ? short(value) : '')),
      },
    ],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    // The highest stack is drawn first, behind the lower ones.
    series: [{ label: 'UTC', value: (_plot, time) => (time ? fullTime(time, step) : '–') }, ...lines.toReversed()],
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
