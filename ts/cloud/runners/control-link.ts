/** Connection to a runner's control socket: reports state changes and the end of the runner. */
import net from 'node:net';
import type { RunnerStatus } from './protocol.js';
import { readStatus } from './read-status.js';

export interface ControlListener {
  /** Called before each attempt to connect. */
  prepare(): void;
  onStatus(status: RunnerStatus): void;
  /** The runner sent an invalid line. The rest is not read. */
  onInvalid(): void;
  /** The connection ended, or could not be established: the process has ended or is unusable. */
  onLost(): void;
}

const RETRY_MS = 50;
/** Longer lines are invalid. */
const MAX_LINE = 64 * 1024;

export class ControlLink {
  #socket: net.Socket | null = null;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  /** Retries to connect while `isAlive` returns true. */
  constructor(
    private readonly path: string,
    private readonly listener: ControlListener,
    private readonly isAlive: () => boolean,
  ) {
    this.#connect();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#socket?.destroy();
  }

  #connect(): void {
    this.listener.prepare();
    const socket = net.createConnection(this.path).setEncoding('utf8');
    this.#socket = socket;
    let connected = false;
    let text = '';
    socket.on('connect', () => {
      connected = true;
    });
    socket.on('data', (data) => {
      text += data;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) this.#read(line);
      if (text.length > MAX_LINE) this.#refuse();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.#closed) return;
      if (connected || !this.isAlive()) this.listener.onLost();
      else this.#retry = setTimeout(() => this.#connect(), RETRY_MS);
    });
  }

  #read(line: string): void {
    if (this.#closed) return;
    const status = readStatus(line);
    if (status === null) this.#refuse();
    else this.listener.onStatus(status);
  }

  #refuse(): void {
    if (this.#closed) return;
    this.close();
    this.listener.onInvalid();
  }
}
