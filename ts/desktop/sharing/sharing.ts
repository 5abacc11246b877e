/**
 * Shares the server in the local network. Other devices use a second application, which listens on the port of the server at
 * the local addresses of this computer. It requires a key for every request. The server at `localhost` does not change.
 */
import type { FastifyInstance } from 'fastify';
import type { KeyCheck } from '../../http/guards/authentication.js';
import { isSecret, newKey, splitKey } from '../../keys/api-key.js';
import { listenAtAll, listenError } from '../../server/listen.js';
import type { ServerState, SharingReply, SharingState } from '../api-types.js';
import type { SettingsStore } from '../store/settings.js';

/** Networks change while the app runs. */
const WATCH_MS = 5000;
const STORED = 'sharing';

interface Kept {
  on: boolean;
  key: { id: string /** Base64. */; hash: string } | null;
}

export interface SharingSettings {
  store: Pick<SettingsStore, 'kept' | 'put'>;
  build(opens: KeyCheck): FastifyInstance;
  /** Addresses of this computer in local networks. */
  addresses(): string[];
  onChange(state: SharingState): void;
}

export class Sharing {
  #port: number | null = null;
  #app: FastifyInstance | null = null;
  /** Where `#app` listens, or should. */
  #places: readonly string[] = [];
  #error: string | null = null;
  /** Serialises changes of the open addresses. */
  #work: Promise<void> = Promise.resolve();
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly settings: SharingSettings) {
    this.#timer = setInterval(() => this.refresh(), WATCH_MS).unref();
  }

  get state(): SharingState {
    const { on, key } = this.#kept;
    const addresses = on && this.#app !== null ? this.#places.map((place) => `http://${place}`) : [];
    return { on, keyId: key?.id ?? null, addresses, error: this.#error };
  }

  /** Creates the key the first time. It is part of this reply only. Does not wait for running replies. */
  async switch(on: boolean): Promise<SharingReply> {
    const { id, key, hash } = newKey();
    const created = on && this.#kept.key === null;
    this.#keep({ on, key: created ? { id, hash: hash.toString('base64') } : this.#kept.key });
    const applied = this.refresh();
    if (on) await applied;
    this.settings.onChange(this.state);
    return { ...this.state, key: created ? key : null };
  }

  /** The old key is invalid from now on. */
  renewKey(): SharingReply {
    const { id, key, hash } = newKey();
    this.#keep({ ...this.#kept, key: { id, hash: hash.toString('base64') } });
    this.settings.onChange(this.state);
    return { ...this.state, key };
  }

  /** Call it when the state of the server changes. */
  follow({ state, address, port }: ServerState): void {
    this.#port = address === null || state === 'stopping' ? null : port;
    void this.refresh();
  }

  /** Opens and closes addresses as needed. */
  refresh(): Promise<void> {
    this.#work = this.#work
      .then(() => this.#apply())
      .catch((error: Error) => {
        this.#error = error.message;
      });
    return this.#work;
  }

  /** Drains running replies. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#port = null;
    await this.refresh();
  }

  get #kept(): Kept {
    return (this.settings.store.kept(STORED) as Kept | undefined) ?? { on: false, key: null };
  }

  #keep(kept: Kept): void {
    this.settings.store.put(STORED, kept);
  }

  /** Evaluated for each request. */
  readonly #opens: KeyCheck = (given) => {
    const { on, key } = this.#kept;
    const parts = splitKey(given);
    if (!on || key === null || parts?.id !== key.id) return false;
    return isSecret(parts.secret, Buffer.from(key.hash, 'base64'));
  };

  async #apply(): Promise<void> {
    const { addresses, build, onChange } = this.settings;
    const port = this.#port;
    const places = this.#kept.on && port !== null ? addresses().map((address) => `${address}:${port}`) : [];
    const isSame = places.join() === this.#places.join();
    if (isSame && this.#error === null) return;
    await this.#app?.close();
    this.#app = null;
    this.#places = places;
    const errorBefore = this.#error;
    this.#error = null;
    if (port !== null && places.length > 0) await this.#open(build, port);
    if (!isSame || this.#error !== errorBefore) onChange(this.state);
  }

  async #open(build: SharingSettings['build'], port: number): Promise<void> {
    const hosts = this.#places.map((place) => place.replace(/:\d+$/, ''));
    // Retried every few seconds, so check before building an application.
    for (const host of hosts) {
      const error = await listenError(host, port);
      this.#error = error?.message ?? null;
      if (error !== null) return;
    }
    const app = build(this.#opens);
    try {
      await listenAtAll(app, hosts, port);
      this.#app = app;
    } catch (error) {
      await app.close();
      this.#error = (error as Error).message;
    }
  }
}
