import { table } from '../table.js';
import type { Measured } from './goals.js';
import type { Outcome } from './measure.js';
import type { Line } from './scenario.js';

/** All rows with their figures and targets. */
export function figuresTable(outcomes: readonly Outcome[]): string {
  const compared = ['machine limit', 'bare loop', 'llama-server'];
  const head = ['measurement', 'unit', ...compared, 'chasqui', '÷ machine', '÷ loop', '÷ llama-server', 'target', ''];
  return table(
    head,
    outcomes.flatMap(({ lines }) => lines.map(({ line, measured }) => row(line, measured))),
  );
}

function row({ name, unit, goal }: Line, measured: Measured): string[] {
  const figure = (value?: number) => (isNumber(value) ? digits(value) : '');
  const verdict = goal ? (goal.isReached(measured) ? 'met' : 'missed') : '';
  const { oursToMachine, oursToLoop, oursToServer } = measured;
  const ratios = [oursToMachine, oursToLoop, oursToServer].map((ratio) => (isNumber(ratio) ? ratio.toFixed(2) : ''));
  const figures = [measured.machine, measured.loop, measured.server, measured.ours].map(figure);
  return [name, unit, ...figures, ...ratios, goal?.text ?? '', verdict];
}

function isNumber(value?: number): value is number {
  return value !== undefined && !Number.isNaN(value);
}

/** Three significant digits, or all integer digits. */
function digits(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}

/** CPU time per round and peak memory of each server, and the duration of all rounds. */
export function usageTable(outcomes: readonly Outcome[]): string {
  const head = [
    'row',
    'llama-server, CPU s',
    'chasqui, CPU s',
    'llama-server, MB',
    'chasqui, MB',
    'CPU of other processes',
    'duration, s',
  ];
  const rows = outcomes.map(({ scenario, usage, takenByOthers, seconds }) => {
    const [server, ours] = [usage.get('llama-server'), usage.get('chasqui')];
    const used = [server?.cpuSeconds.toFixed(2), ours?.cpuSeconds.toFixed(2)];
    const peaks = [server?.peakMegabytes.toFixed(0), ours?.peakMegabytes.toFixed(0)];
    const ofAll = [`${(100 * takenByOthers).toFixed(0)} %`, seconds.toFixed(0)];
    return [scenario.id, ...[...used, ...peaks].map((cell) => cell ?? ''), ...ofAll];
  });
  return table(head, rows);
}
