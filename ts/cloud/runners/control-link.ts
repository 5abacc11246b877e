/** The control plane's end of a runner's control socket: its state as it changes, and its end. */
import net from 'node:net';
import type { RunnerStatus } from './protocol.js';

export interface ControlListener {
  /** Before each attempt to connect. */
  prepare(): void;
  onStatus(status: RunnerStatus): void;
  /** The socket was there and is not any more, or never came: the process has ended, or is as good as that. */
  onLost(): void;
}

const RETRY_MS = 50;
/** A line longer than this comes from no runner. */
const MAX_LINE = 64 * 1024;

export class ControlLink {
  #socket: net.Socket | null = null;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  /** Tries to connect until `isAlive` says that there is nobody who could listen. */
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
    const socket = net.createConnection(this.path);
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
      if (text.length > MAX_LINE) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.#closed) return;
      if (connected || !this.isAlive()) this.listener.onLost();
      else this.#retry = setTimeout(() => this.#connect(), RETRY_MS);
    });
  }

  #read(line: string): void {
    let status: RunnerStatus;
    try {
      status = JSON.parse(line) as RunnerStatus;
    } catch {
      return;
    }
    if (!this.#closed) this.listener.onStatus(status);
  }
}
