/** Apps for tests of the dashboard, in memory: what is done to them shows at once. */
import type { AppDetail, AppsView, LogLine } from '../../ts/cloud/dashboard/apps-view.js';
import { ChasquiError } from '../../ts/errors.js';

const NOW = Math.floor(Date.now() / 1000);

export class SampleApps implements AppsView {
  /** Requested changes, such as `acme/chat restart`, and their actors. */
  readonly changes: [change: string, actor: string][] = [];
  readonly #apps = new Map<string, AppDetail>();
  readonly #listeners = new Set<() => void>();
  readonly #logListeners = new Set<(line: LogLine) => void>();
  readonly #lines: LogLine[] = [];

  /** Adds an app, or changes one. */
  set(org: string, name: string, given: Partial<AppDetail> = {}): void {
    this.#apps.set(`${org}/${name}`, { ...sampleApp(org, name), ...this.#apps.get(`${org}/${name}`), ...given });
    this.#tell();
  }

  print(text: string): void {
    const line = { at: Date.now(), runner: 'r1a2b3', text };
    this.#lines.push(line);
    for (const listener of this.#logListeners) listener(line);
  }

  list(): readonly AppDetail[] {
    return [...this.#apps.values()];
  }

  find(org: string, name: string): AppDetail | null {
    return this.#apps.get(`${org}/${name}`) ?? null;
  }

  async rollBack(org: string, name: string, revision: number, actor: { name: string }): Promise<void> {
    const found = this.find(org, name)?.revisions.find(({ number }) => number === revision);
    if (found?.state !== 'retired') {
      throw new ChasquiError('invalid_value', `Revision ${revision} of ${org}/${name} is gone.`, 'revision');
    }
    this.changes.push([`${org}/${name} to ${revision}`, actor.name]);
    this.set(org, name, { revision });
  }

  async scale(org: string, name: string, to: { min: number; max: number } | null, actor: { name: string }) {
    if (to && to.min > to.max) throw new ChasquiError('invalid_value', '`min` must not be above `max`.', 'min');
    this.changes.push([`${org}/${name} scale ${to ? `${to.min}-${to.max}` : 'as scripted'}`, actor.name]);
    this.set(org, name, { scale: { ...(to ?? { min: 0, max: 2 }), is_overridden: to !== null } });
  }

  async restart(org: string, name: string, actor: { name: string }): Promise<void> {
    this.changes.push([`${org}/${name} restart`, actor.name]);
    this.#tell();
  }

  logs(_org: string, _name: string, lines: number): readonly LogLine[] {
    return this.#lines.slice(-lines);
  }

  onLog(_org: string, _name: string, listener: (line: LogLine) => void): () => void {
    this.#logListeners.add(listener);
    return () => this.#logListeners.delete(listener);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Number of pages with an open event stream. */
  get followers(): number {
    return this.#listeners.size + this.#logListeners.size;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

function sampleApp(org: string, name: string): AppDetail {
  const digest = 'b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184';
  return {
    org,
    app: name,
    auth: 'private',
    ...{ state: 'ready', reason: null, progress: null },
    ...{ model: 'chasqui-demo', models: ['chasqui-demo'] },
    ...{ url: `http://127.0.0.1:8088/${org}/${name}`, revision: 2, ready: 1, demand: { running: 3, queued: 0 } },
    scale: { min: 0, max: 2, is_overridden: false },
    revisions: [
      {
        ...{
          number: 1,
          state: 'retired',
          reason: null,
          strategy: 'rolling',
          options: {},
          author: 'owner',
          message: null,
        },
        digest: digest.split('').reverse().join(''),
        ...{ created_at: (NOW - 200_000) * 1000, activated_at: (NOW - 199_990) * 1000 },
      },
      {
        ...{ number: 2, state: 'active', reason: null, strategy: 'rolling', options: {}, author: 'owner', digest },
        message: 'A longer context',
        ...{ created_at: (NOW - 3600) * 1000, activated_at: (NOW - 3590) * 1000 },
      },
    ],
    runners: [
      {
        id: 'r1a2b3',
        state: 'busy',
        health: 'good',
        reason: null,
        revision: 2,
        pid: 4711,
        running: 3,
        slots: 8,
        startedAt: NOW - 3000,
      },
    ],
    events: [
      { at: NOW - 3590, subject: 'runner r1a2b3', change: 'loading → warming', reason: null },
      { at: NOW - 3600, subject: 'revision 2', change: 'created → fetching', reason: 'deployed by owner' },
    ],
  };
}
