/** Apps to plan for, and plans as short texts. */
import { type Action, decide, type PlannedApp, type PlannedRunner } from '../../../../ts/cloud/apps/decide.ts';
import { readQuotas } from '../../../../ts/cloud/apps/quotas.ts';

export const GIB = 2 ** 30;

export function appOf(name: string, changes: Partial<PlannedApp> = {}): PlannedApp {
  return {
    id: name,
    org: 'me',
    name,
    active: { revision: 1, bytes: GIB, gpus: 0 },
    candidate: null,
    slots: 2,
    scale: { min: 0, max: 3, buffer: 0, keepAliveMs: 1000, delayMs: 0 },
    demand: { running: 0, queued: 0 },
    tooFewSince: null,
    tooManySince: null,
    usedAt: 0,
    backOffUntil: 0,
    restoring: false,
    runners: [],
    ...changes,
  };
}

export const runner = (id: string, changes: Partial<PlannedRunner> = {}): PlannedRunner => {
  return { id, revision: 1, state: 'ready', bytes: GIB, gpus: 0, running: 0, ...changes };
};
export const plan = (
  apps: PlannedApp[],
  { budgetBytes = 10 * GIB, now = 5000, gpus = 2, quotas = readQuotas([]) } = {},
) => decide({ apps, budgetBytes, gpus, quotas }, now);
export const short = (actions: Action[]) =>
  actions.map((action) => {
    if (action.kind === 'start') return `start ${action.app} ${action.revision}`;
    return action.kind === 'stop' ? `stop ${action.runner}: ${action.reason}` : `${action.kind} ${action.app}`;
  });
