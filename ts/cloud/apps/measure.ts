/** The apps and runners of the moment, as the metrics count them. */
import type { MeasuredApp, MeasuredCloud } from '../metrics/cloud-metrics.js';
import type { LiveApp } from './live-app.js';
import type { Supervisor } from './supervisor.js';

export function measure({ apps, parts }: Supervisor): MeasuredCloud {
  const there = [...apps.values()].filter(({ row }) => row.deleted === 0);
  return { apps: there.map(toMeasured), memoryLimitBytes: parts.budgetBytes };
}

function toMeasured(app: LiveApp): MeasuredApp {
  const runners = { loading: 0, warming: 0, ready: 0, draining: 0 };
  let memoryBytes = 0;
  for (const { state, facts } of app.runnersById.values()) {
    const label = state.toLowerCase();
    if (label in runners) runners[label as keyof typeof runners] += 1;
    memoryBytes += facts.bytes;
  }
  return {
    ...{ org: app.org, name: app.name, running: app.demand.running, waiting: app.demand.queued },
    ...{ queueLimit: app.limits.queue, runners, memoryBytes, starts: app.starts, crashes: app.crashes },
    hasFailed: app.failure !== null,
  };
}
