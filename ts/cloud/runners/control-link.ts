/** The control plane's end of a runner's control socket: its state as it changes, and its end. */
import net from 'node:net';
import type { RunnerStatus } from './protocol.js';
import { readStatus } from './read-status.js';

export interface ControlListener {
  /** Before each attempt to connect. */
  prepare(): void;
  onStatus(status: RunnerStatus): void;
  /** It has written what no runner does. Nothing more of it is read. */
  onNonsense(): void;
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
    this.listener.onNonsense();
  }
}
