/** The server of the Developer view: opened by Start Server at the port that clients know, closed by Stop. */
import type { FastifyInstance } from 'fastify';
import { ChasquiError } from '../errors.js';
import { listenAt } from '../server/listen.js';
import type { LoadConfig, ServerState } from './api-types.js';
import { freePort, portOwner } from './ports.js';

export interface DeveloperServerSettings {
  host: string;
  /** A new application for each start. */
  build(): FastifyInstance;
  /** Loads the model that the server is started with. */
  load(model: string, config: LoadConfig | undefined): Promise<{ id: string }>;
  /** Ends that load. */
  cancelLoad(model: string): void;
  /** The port and the model are worth remembering: they work. */
  onStarted(port: number | null, model: string): void;
  onChange(state: ServerState): void;
}

export class DeveloperServer {
  readonly #settings: DeveloperServerSettings;
  #app: FastifyInstance | null = null;
  #state: ServerState;
  /** The model that a start loads. */
  #starting: string | null = null;
  /** Starts and stops follow one another. */
  #work: Promise<unknown> = Promise.resolve();

  constructor(settings: DeveloperServerSettings, port: number) {
    this.#settings = settings;
    this.#state = { state: 'stopped', port, address: null, model: null, error: null };
  }

  get state(): ServerState {
    return this.#state;
  }

  /** The model that any name means. */
  get selected(): string | null {
    return this.#state.model;
  }

  /**
   * Opens the port, and resolves when the model is loaded; where it runs already, it goes on with this model. Rejects
   * with `port_in_use`, and with why the model could not be loaded: a server that runs at this port goes on as it was.
   */
  start(model: string, port: number, config?: LoadConfig): Promise<ServerState> {
    return this.#next(() => this.#start(model, port, config));
  }

  /** The port of the next start, as it is shown until then. */
  expectPort(port: number): void {
    if (this.#state.state === 'stopped' && this.#state.port !== port) this.#tell({ port });
  }

  /** Lets running replies finish; a start that still loads its model is given up. */
  stop(): Promise<ServerState> {
    if (this.#starting !== null) this.#settings.cancelLoad(this.#starting);
    return this.#next(() => this.#stop());
  }

  async #start(model: string, port: number, config: LoadConfig | undefined): Promise<ServerState> {
    const isOpen = this.#app !== null && (port === this.#state.port || port === 0);
    if (!isOpen) await this.#stop();
    this.#tell({ state: 'starting', error: null });
    this.#starting = model;
    try {
      if (!isOpen) await this.#open(port);
      const { id } = await this.#settings.load(model, config);
      this.#tell({ state: 'running', model: id });
      // Any free port is none that is worth remembering.
      this.#settings.onStarted(port === 0 ? null : port, id);
      return this.#state;
    } catch (error) {
      if (!isOpen) await this.#stop();
      this.#tell({ ...(isOpen && { state: 'running' }), error: (error as Error).message });
      throw error;
    } finally {
      this.#starting = null;
    }
  }

  async #open(port: number): Promise<void> {
    const { host, build } = this.#settings;
    const app = build();
    try {
      const taken = await listenAt(app, host, port);
      this.#app = app;
      this.#tell({ port: taken, address: `http://localhost:${taken}` });
    } catch (error) {
      await app.close();
      throw await explain(error as NodeJS.ErrnoException, port);
    }
  }

  async #stop(): Promise<ServerState> {
    const app = this.#app;
    if (app !== null) this.#tell({ state: 'stopping' });
    await app?.close();
    this.#app = null;
    this.#tell({ state: 'stopped', address: null });
    return this.#state;
  }

  #tell(change: Partial<ServerState>): void {
    this.#state = { ...this.#state, ...change };
    this.#settings.onChange(this.#state);
  }

  #next(work: () => Promise<ServerState>): Promise<ServerState> {
    const result = this.#work.then(work);
    this.#work = result.catch(() => undefined);
    return result;
  }
}

async function explain(error: NodeJS.ErrnoException, port: number): Promise<Error> {
  if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') return error;
  const free = await freePort(port);
  const advice = free === null ? 'Choose another port.' : `Port ${free} is free.`;
  if (error.code === 'EACCES') {
    return new ChasquiError('port_in_use', `Port ${port} may not be used by this account. ${advice}`, 'port');
  }
  const owner = await portOwner(port);
  const by = owner === null ? 'another program' : `${owner.name} (process ${owner.pid})`;
  return new ChasquiError('port_in_use', `Port ${port} is used by ${by}. ${advice}`, 'port');
}
