/** Operations on apps: deploy, list, scale, roll back, restart, delete. */
import { ChasquiError, invalidValue } from '../../errors.js';
import { checkUrlName } from '../../keys/key-settings.js';
import type { Actor, AuditLog } from '../accounts/audit.js';
import type { ModelUploads } from '../api/uploads.js';
import { canonicalJson, digestOf, type Json } from '../script/canonical-json.js';
import { filesIn, type Manifest, toManifest } from '../script/manifest.js';
import type { SecretStore } from '../store/secrets.js';
import type { AppStore, EventRow, Strategy } from './app-store.js';
import type { LiveApp } from './live-app.js';
import { logsOf, readLog } from './logs.js';
import { givenFileBytes, refuseImpossibleMachine, refuseTooLittleMemory } from './runner-memory.js';
import type { Supervisor } from './supervisor.js';
import { type AppState, type AppSummary, type RunnerView, runnerView, stateOf, summaryOf } from './views.js';
import type { FileMarks } from './weights.js';

export interface Deployment {
  options: { readonly [name: string]: Json };
  /** Size and digest of local files, by path. */
  files: FileMarks;
  message: string | null;
  strategy: Strategy;
}

export interface Deployed {
  app: string;
  org: string;
  revision: number;
  url: string;
  state: string;
  /** The active revision is identical; nothing was deployed. */
  unchanged: boolean;
}

const MAX_RUNNERS = 64;
/** For all logs of an app together. They are read on the thread that relays tokens. */
const LOG_BYTES = 256 * 1024;
const MIN_LOG_BYTES = 4096;

/** Read position in the logs of an app: an offset per runner. */
export type LogCursor = Readonly<Record<string, number>>;

/** Whether the caller may see an app. */
export type Allows = (org: string, app: string) => boolean;

export interface ControlParts {
  readonly supervisor: Supervisor;
  readonly store: AppStore;
  readonly audit: Pick<AuditLog, 'add'>;
  readonly logFolder: string;
  readonly uploads: Pick<ModelUploads, 'isOf'>;
  readonly secrets: Pick<SecretStore, 'requireAll'>;
  /** Base URL for clients, without a trailing slash. */
  readonly publicUrl: () => string;
}

export class AppControl {
  constructor(private readonly parts: ControlParts) {}

  /** @throws {ChasquiError} `script_invalid`, `invalid_value` */
  deploy(org: string, name: string, { options, files, message, strategy }: Deployment, actor: Actor): Deployed {
    checkUrlName('org', org);
    checkUrlName('app', name);
    const manifest = toManifest(options, name);
    const bytes = givenFileBytes(manifest, (file) => (Object.hasOwn(files, file) ? (files[file]?.size ?? 0) : 0));
    refuseTooLittleMemory(manifest, bytes, name);
    refuseImpossibleMachine(manifest, this.parts.supervisor.parts.gpus?.ids.length ?? null, name);
    this.parts.secrets.requireAll(org, manifest.secrets);
    const runners = Math.max(1, this.parts.supervisor.find(org, name)?.row.scale_min ?? manifest.scale.min);
    this.parts.supervisor.refuseBeyondQuota(org, name, { runners, bytes: manifest.memoryBytes ?? bytes });
    const isLocal = actor.kind === 'local';
    if (!isLocal) this.#refuseOtherFiles(manifest, actor);
    const { supervisor, store } = this.parts;
    const app = supervisor.findOrAdd(org, name);
    const digest = digestOf({ options, files } as unknown as Json);
    const active = app.row.active === null ? undefined : store.revision(app.id, app.row.active);
    if (active?.digest === digest && app.rollout === null && app.failure === null) {
      if (app.auth !== manifest.auth) {
        store.set(app.id, { auth: manifest.auth, public_with: null });
        this.#audit(actor, 'app.auth', app, { auth: manifest.auth });
        supervisor.refresh(app);
      }
      return this.#deployed(app, active.number, true);
    }
    const author = authorOf(actor);
    const row = { options: canonicalJson(options), files: JSON.stringify(files), digest, message, author, strategy };
    const number = store.addRevision(app.row, { ...row, is_local: isLocal ? 1 : 0 });
    // A private app stays private until the public revision is active.
    const waits = manifest.auth === 'public' && app.auth === 'private' && active !== undefined;
    store.set(app.id, waits ? { public_with: number } : { auth: manifest.auth, public_with: null });
    this.#audit(actor, 'app.deploy', app, { revision: number, digest });
    supervisor.rollouts.begin(app, number, strategy, message ?? `deployed by ${author}`);
    return this.#deployed(app, number, false);
  }

  /** `revision`: null for the one that was active before. */
  rollBack(org: string, name: string, revision: number | null, actor: Actor): Deployed {
    const app = this.#find(org, name);
    const { supervisor, store } = this.parts;
    const target = revision ?? supervisor.rollouts.previousOf(app)?.number;
    if (target === undefined) throw refused(`${org}/${name} has no earlier revision to roll back to.`);
    const row = store.revision(app.id, target);
    if (row === undefined) throw new ChasquiError('app_not_found', `${org}/${name} has no revision ${target}.`);
    if (target === app.row.active && app.failure === null) throw refused(`Revision ${target} is active already.`);
    this.parts.secrets.requireAll(org, supervisor.rollouts.readable(app, target).secrets);
    store.set(app.id, { public_with: null });
    this.#audit(actor, 'app.rollback', app, { revision: target });
    supervisor.rollouts.begin(app, target, 'rolling', `rollback by ${authorOf(actor)}`);
    return this.#deployed(app, target, false);
  }

  /** Replaces all runners without a pause. The new ones read the current secrets. */
  restart(org: string, name: string, actor: Actor): Deployed {
    const app = this.#find(org, name);
    const { supervisor, store } = this.parts;
    const last = store.revisions(app.id).at(-1)?.number;
    const row = store.revision(app.id, app.row.active ?? last ?? 0);
    if (row === undefined) throw refused(`${org}/${name} has no revision.`);
    this.parts.secrets.requireAll(org, supervisor.rollouts.readable(app, row.number).secrets);
    const message = `restart of revision ${row.number}`;
    const number = store.addRevision(app.row, { ...row, message, author: authorOf(actor), strategy: 'rolling' });
    store.set(app.id, { public_with: null });
    this.#audit(actor, 'app.restart', app, { revision: number });
    supervisor.rollouts.begin(app, number, 'rolling', message);
    return this.#deployed(app, number, false);
  }

  /** Overrides the scale of the script; null restores it. */
  scale(org: string, name: string, scale: { min: number; max: number } | null, actor: Actor): AppState {
    const app = this.#find(org, name);
    if (scale !== null) {
      for (const field of ['min', 'max'] as const) {
        const value = scale[field];
        const min = field === 'min' ? 0 : 1;
        if (Number.isInteger(value) && value >= min && value <= MAX_RUNNERS) continue;
        throw invalid(field, `\`${field}\` must be a whole number from ${min} to ${MAX_RUNNERS}.`);
      }
      if (scale.min > scale.max) throw invalid('min', '`min` must be at most `max`.');
      const needs = { runners: scale.min, bytes: app.active?.bytes ?? 0 };
      this.parts.supervisor.refuseBeyondQuota(org, name, needs);
    }
    this.parts.store.set(app.id, { scale_min: scale?.min ?? null, scale_max: scale?.max ?? null });
    const bounds = scale === null ? 'as in the script' : `from ${scale.min} to ${scale.max} runners`;
    this.parts.store.note(app.row, 'SCALED', `${bounds}, by ${authorOf(actor)}`);
    this.#audit(actor, 'app.scale', app, { scale });
    this.parts.supervisor.refresh(app);
    return this.#state(app);
  }

  /** The address stops working at once; running requests are completed. */
  remove(org: string, name: string, actor: Actor): void {
    const app = this.#find(org, name);
    this.parts.store.set(app.id, { deleted: 1 });
    this.parts.store.note(app.row, 'DELETING', `by ${authorOf(actor)}`);
    this.#audit(actor, 'app.delete', app, {});
    app.rollout = null;
    this.parts.supervisor.refresh(app);
  }

  stopRunner(id: string, allows: Allows, actor: Actor): void {
    for (const app of this.parts.supervisor.apps.values()) {
      const runner = app.runnersById.get(id);
      if (runner === undefined || !allows(app.org, app.name)) continue;
      this.#audit(actor, 'runner.stop', app, { runner: id });
      this.parts.supervisor.drainRunner(app, runner, `stopped by ${authorOf(actor)}`);
      return;
    }
    throw new ChasquiError('app_not_found', `There is no runner ${id.slice(0, 100)}.`);
  }

  list(allows: Allows): AppState[] {
    const live = this.#live().filter(({ org, name }) => allows(org, name));
    return live.map((app) => this.#state(app));
  }

  /** Without revisions. */
  summaries(): AppSummary[] {
    return this.#live().map((app) => summaryOf(app, this.#url(app)));
  }

  /** `revision`: also show this revision, even if it is old. */
  status(org: string, name: string, revision: number | null = null): AppState {
    return this.#state(this.#find(org, name), revision);
  }

  /** Asks the runners of other apps nothing: a slow one would delay the reply. */
  async runners(allows: Allows): Promise<RunnerView[]> {
    const apps = [...this.parts.supervisor.apps.values()].filter(({ org, name }) => allows(org, name));
    const all = apps.flatMap((app) => [...app.runnersById.values()].map((runner) => runnerView(app, runner)));
    return Promise.all(all);
  }

  async runnersOf(org: string, name: string): Promise<RunnerView[]> {
    const app = this.#find(org, name);
    return Promise.all([...app.runnersById.values()].map((runner) => runnerView(app, runner)));
  }

  events(org: string, name: string, after: number, limit: number): EventRow[] {
    return this.parts.store.events(org, name, after, limit);
  }

  /** Lines since the cursor; without one, the last lines. */
  logs(
    org: string,
    name: string,
    cursor: LogCursor | null,
  ): { lines: { runner: string; text: string }[]; cursor: LogCursor } {
    const app = this.#find(org, name);
    const next: Record<string, number> = {};
    let left = LOG_BYTES;
    // The newest log first: it gets the most bytes.
    const logs = logsOf(this.parts.logFolder, app.id).reverse();
    const lines = logs.map(({ runner, file }) => {
      const from = cursor === null ? null : (cursor[runner] ?? 0);
      const read = readLog(file, from, left);
      next[runner] = read.next;
      left = Math.max(MIN_LOG_BYTES, left - read.text.length);
      const texts = read.text.split('\n').slice(0, -1);
      return texts.map((text) => ({ runner, text }));
    });
    return { lines: lines.reverse().flat(), cursor: next };
  }

  /** Remote deployments may name only files that their own organisation has uploaded. */
  #refuseOtherFiles(manifest: Manifest, { org }: Actor): void {
    for (const file of filesIn(manifest)) {
      if (file.kind !== 'file' || this.parts.uploads.isOf(file.path, org)) continue;
      const owner = org === null ? 'this cloud' : org;
      const message = `${file.path.slice(0, 100)} is not an uploaded model of ${owner}. Uploads are named by digest.`;
      throw new ChasquiError('permission_denied', message, 'options');
    }
  }

  #live(): LiveApp[] {
    const apps = [...this.parts.supervisor.apps.values()].filter(({ row }) => row.deleted === 0);
    const name = (app: LiveApp) => `${app.org}/${app.name}`;
    return apps.sort((one, other) => (name(one) < name(other) ? -1 : 1));
  }

  #find(org: string, name: string): LiveApp {
    const app = this.parts.supervisor.find(org, name);
    if (app !== null) return app;
    throw new ChasquiError('app_not_found', `There is no app ${org.slice(0, 100)}/${name.slice(0, 100)}.`);
  }

  #state(app: LiveApp, revision: number | null = null): AppState {
    return stateOf(app, this.parts.store, this.#url(app), revision);
  }

  #url({ org, name }: LiveApp): string {
    return `${this.parts.publicUrl()}/${org}/${name}`;
  }

  #deployed(app: LiveApp, revision: number, unchanged: boolean): Deployed {
    const state = this.parts.store.revision(app.id, revision)?.state ?? 'CREATED';
    return { app: app.name, org: app.org, revision, url: this.#url(app), state, unchanged };
  }

  #audit(actor: Actor, action: string, { org, name }: LiveApp, detail: object): void {
    this.parts.audit.add({ actor, action, org, subject: `${org}/${name}`, detail });
  }
}

function authorOf({ kind, name }: Actor): string {
  return kind === 'local' ? name : `${kind} ${name}`;
}

function invalid(field: string, message: string): ChasquiError {
  return invalidValue(message, field);
}

function refused(message: string): ChasquiError {
  return new ChasquiError('deployment_refused', message);
}
