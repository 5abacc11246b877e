/** Requests, metrics and log lines of the server, bounded. */
import { signal } from '@preact/signals';
import type { LogLine, MetricsPoint, RequestRow } from '../../api-types.js';
import { get } from './api.js';

export const MAX_REQUESTS = 200;
export const MAX_POINTS = 3600;
export const MAX_LOG_LINES = 1000;

/** Newest first. */
export const requests = signal<readonly RequestRow[]>([]);
/** Oldest first. */
export const points = signal<readonly MetricsPoint[]>([]);
export const logLines = signal<readonly LogLine[]>([]);

export async function refreshActivity(): Promise<void> {
  const [requestReply, metrics, logs] = await Promise.all([
    get<{ requests: RequestRow[] }>(`/requests?limit=${MAX_REQUESTS}`),
    get<{ points: MetricsPoint[] }>(`/metrics?seconds=${MAX_POINTS}`),
    get<{ lines: LogLine[] }>(`/logs?limit=${MAX_LOG_LINES}`),
  ]);
  requests.value = requestReply.requests.toSorted((a, b) => b.at - a.at).slice(0, MAX_REQUESTS);
  points.value = metrics.points.slice(-MAX_POINTS);
  logLines.value = logs.lines.slice(-MAX_LOG_LINES);
}

export function takeRequest(row: RequestRow): void {
  const position = requests.value.findIndex(({ id }) => id === row.id);
  requests.value =
    position < 0 ? [row, ...requests.value].slice(0, MAX_REQUESTS) : requests.value.toSpliced(position, 1, row);
}

export function takePoint(point: MetricsPoint): void {
  const last = points.value.at(-1);
  if (last && point.at <= last.at) return;
  points.value = [...points.value, point].slice(-MAX_POINTS);
}

/** A point without values is a gap. */
export type PlotPoint = Partial<MetricsPoint> & { at: number };

/** The app measures every second, unless it or the computer was suspended. */
const maxDistanceMs = 5000;

/** Adds a point without values where measurements are missing, so plots do not connect their neighbours. */
export function withGaps(measured: readonly MetricsPoint[]): readonly PlotPoint[] {
  return measured.flatMap((point, index) => {
    const before = measured[index - 1]?.at ?? point.at;
    return point.at - before > maxDistanceMs ? [{ at: before + 1 }, point] : [point];
  });
}

/** Batches log lines into one update per frame. */
let waiting: LogLine[] = [];

export function takeLogLine(line: LogLine): void {
  waiting.push(line);
  if (waiting.length > MAX_LOG_LINES) waiting.shift();
  if (waiting.length === 1) {
    setTimeout(() => {
      logLines.value = [...logLines.value, ...waiting].slice(-MAX_LOG_LINES);
      waiting = [];
    }, 100);
  }
}

export function isRunning({ state }: RequestRow): boolean {
  return state === 'waiting' || state === 'prefill' || state === 'decode';
}
