/** The server of the Developer view: Start Server opens the port, Stop Server closes it. */
import type { FastifyInstance } from 'fastify';
import { ChasquiError } from '../errors.js';
import { listenAt } from '../server/listen.js';
import type { LoadConfig, ServerState } from './api-types.js';
import { freePort, portOwner } from './ports.js';

export interface DeveloperServerSettings {
  host: string;
  /** Creates the application; called at each start. */
  build(): FastifyInstance;
  load(model: string, config: LoadConfig | undefined): Promise<{ id: string }>;
  cancelLoad(model: string): void;
  /** Called after a successful start, to remember port and model. */
  onStarted(port: number | null, model: string): void;
  onChange(state: ServerState): void;
}

export class DeveloperServer {
  #app: FastifyInstance | null = null;
  #state: ServerState;
  /** Model of a start in progress. */
  #starting: string | null = null;
  /** Serialises starts and stops. */
  #work: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly settings: DeveloperServerSettings,
    port: number,
  ) {
    this.#state = { state: 'stopped', port, address: null, model: null, error: null };
  }

  get state(): ServerState {
    return this.#state;
  }

  /** The default model: any name resolves to it. */
  get selected(): string | null {
    return this.#state.model;
  }

  /**
   * Opens the port and resolves when the model is loaded. A running server at this port continues with the new model.
   * Rejects with `port_in_use`, or with the load error; a server that was running continues unchanged.
   */
  start(model: string, port: number, config?: LoadConfig): Promise<ServerState> {
    return this.#next(() => this.#start(model, port, config));
  }

  /** Sets the port shown while the server is stopped. */
  expectPort(port: number): void {
    if (this.#state.state === 'stopped' && this.#state.port !== port) this.#tell({ port });
  }

  /** Drains running replies and cancels a load in progress. */
  stop(): Promise<ServerState> {
    if (this.#starting !== null) this.settings.cancelLoad(this.#starting);
    return this.#next(() => this.#stop());
  }

  async #start(model: string, port: number, config: LoadConfig | undefined): Promise<ServerState> {
    const isOpen = this.#app !== null && (port === this.#state.port || port === 0);
    if (!isOpen) await this.#stop();
    this.#tell({ state: 'starting', error: null });
    this.#starting = model;
    try {
      if (!isOpen) await this.#open(port);
      const { id } = await this.settings.load(model, config);
      this.#tell({ state: 'running', model: id });
      // Port 0 means any free port; do not remember it.
      this.settings.onStarted(port === 0 ? null : port, id);
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
    const { host, build } = this.settings;
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
    this.settings.onChange(this.#state);
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
    return new ChasquiError('port_in_use', `This account may not use port ${port}. ${advice}`, 'port');
  }
  const owner = await portOwner(port);
  const by = owner === null ? 'another program' : `${owner.name} (process ${owner.pid})`;
  return new ChasquiError('port_in_use', `Port ${port} is in use by ${by}. ${advice}`, 'port');
}
