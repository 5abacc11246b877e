/** User settings in the database. */

import { HUGGING_FACE } from '../../hub/hub-settings.js';
import { LOAD_OPTIONS } from '../../options/load-option-table.js';
import { desktop } from '../../profiles/desktop.js';
import type { LoadConfig, Settings, SettingsChange } from '../api-types.js';
import type { Store } from './database.js';

export interface Keep {
  ttlMs: number;
  pin: boolean;
}

const DEFAULTS: Omit<Settings, 'hasHubToken' | 'hubTokenEndpoint' | 'hasServerKey'> = {
  theme: 'system',
  language: null,
  port: desktop.port,
  startServerAtLaunch: false,
  startAtLogin: false,
  modelFolders: [],
  hubEndpoint: null,
  preventSleep: true,
  logPrompts: false,
  generateTitles: true,
  checkForUpdates: true,
  allowedTools: [],
  ttl: 0,
  modelKeeps: {},
  lastModel: null,
  modelDefaults: {},
  presets: [],
  modelPresets: {},
};

export class SettingsStore {
  readonly #values: Map<string, unknown>;

  constructor(private readonly store: Store) {
    const rows = store.rows<{ name: string; value: string }>('SELECT name, value FROM settings');
    this.#values = new Map(rows.map(({ name, value }) => [name, JSON.parse(value)]));
  }

  /** Without secrets. */
  get current(): Settings {
    const known = Object.entries(DEFAULTS).map(([name, value]) => [name, this.#values.get(name) ?? value]);
    const hasHubToken = this.hubToken !== null;
    const hubTokenEndpoint = hasHubToken ? (this.#values.get('hubTokenEndpoint') ?? HUGGING_FACE) : null;
    return { ...Object.fromEntries(known), hasHubToken, hubTokenEndpoint, hasServerKey: this.serverKey !== null };
  }

  get hubToken(): string | null {
    return (this.#values.get('hubToken') as string | undefined) ?? null;
  }

  /** `null`: no key is required. */
  get serverKey(): string | null {
    return (this.#values.get('serverKey') as string | undefined) ?? null;
  }

  defaultsOf(model: string): LoadConfig {
    const { modelDefaults } = this.current;
    const defaults = Object.hasOwn(modelDefaults, model) ? (modelDefaults[model] as LoadConfig) : {};
    // This version may no longer have a stored option.
    return Object.fromEntries(Object.entries(defaults).filter(([name]) => Object.hasOwn(LOAD_OPTIONS, name)));
  }

  /** Idle time and pinning of a model. */
  keepOf(model: string): Keep {
    const { modelKeeps, ttl } = this.current;
    const own = Object.hasOwn(modelKeeps, model) ? modelKeeps[model] : undefined;
    if (own === 'pinned') return { ttlMs: 0, pin: true };
    return { ttlMs: (own ?? ttl) * 1000, pin: false };
  }

  /** `null` restores a default. Atomic. */
  change(change: SettingsChange & { hubTokenEndpoint?: string }): void {
    const values = Object.entries(change);
    this.store.transaction(() => {
      for (const [name, value] of values) this.#write(name, value);
    });
    for (const [name, value] of values) this.#remember(name, value);
  }

  /** Returns an internal value; creates it with `make` on first use. */
  own(name: string, make: () => string): string {
    const key = `app.${name}`;
    if (!this.#values.has(key)) {
      const value = make();
      this.#write(key, value);
      this.#remember(key, value);
    }
    return this.#values.get(key) as string;
  }

  /** Stores an internal value. On a write error the value is lost at the end of the process. */
  keep(name: string, value: unknown): void {
    try {
      this.put(name, value);
    } catch {
      this.#remember(`app.${name}`, value);
    }
  }

  /** Stores an internal value, or throws and keeps the old one. */
  put(name: string, value: unknown): void {
    this.#write(`app.${name}`, value);
    this.#remember(`app.${name}`, value);
  }

  kept(name: string): unknown {
    return this.#values.get(`app.${name}`);
  }

  #write(name: string, value: unknown): void {
    if (value === null) this.store.run('DELETE FROM settings WHERE name = ?', name);
    else this.store.run('INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)', name, JSON.stringify(value));
  }

  #remember(name: string, value: unknown): void {
    if (value === null) this.#values.delete(name);
    else this.#values.set(name, value);
  }
}
