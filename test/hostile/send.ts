/** Requests as hostile clients send them: whole ones, and bytes that no HTTP client would send. */
import http from 'node:http';
import net from 'node:net';

export interface Exchange {
  /** 0: there was no reply. */
  status: number;
  text: string;
  ms: number;
  /** Content type of the reply. */
  type?: string;
}

/** Returns the outcome of a request within the time limit. A dropped connection has status 0 and the reason. */
export function send(port: number, path: string, body: string | Buffer, limitMs: number): Promise<Exchange> {
  const started = performance.now();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let status = 0;
    let type = '';
    const end = (problem = '') => {
      clearTimeout(timer);
      request.destroy();
      const text = Buffer.concat(chunks).toString();
      resolve({ status: problem ? 0 : status, text: problem || text, ms: performance.now() - started, type });
    };
    const timer = setTimeout(() => end(`no whole answer within ${limitMs} ms (status ${status})`), limitMs);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = http.request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent: false });
    request.on('response', (reply) => {
      status = reply.statusCode ?? 0;
      type = String(reply.headers['content-type']);
      reply.on('data', (chunk) => chunks.push(chunk));
      reply.on('end', () => end());
      reply.on('error', (error) => end(error.message));
    });
    // A server that refuses a body early closes the connection, and the reply may still arrive.
    request.on('error', (error) => setTimeout(() => end(status === 0 ? error.message : ''), 100));
    request.end(body);
  });
}

/** A connection of its own, for bytes that are no request, and for clients that do not read. */
export class RawConnection {
  readonly #socket: net.Socket;
  #received = '';
  #closed = false;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.setEncoding('utf8').on('data', (text: string) => {
      this.#received += text;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#closed = true;
    });
  }

  static open(port: number): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new RawConnection(socket)));
    });
  }

  get received(): string {
    return this.#received;
  }
  get closed(): boolean {
    return this.#closed;
  }

  /** Resolves when the operating system has taken them, or the connection is closed. */
  write(bytes: string | Buffer): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#socket.once('close', () => resolve());
      this.#socket.write(bytes, () => resolve());
    });
  }

  /** Half-closes the connection: received data is still read. */
  end(): void {
    this.#socket.end();
  }

  stopReading(): void {
    this.#socket.pause();
  }

  readOn(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }

  async until(holds: (connection: RawConnection) => boolean, limitMs: number): Promise<boolean> {
    const deadline = performance.now() + limitMs;
    while (!holds(this)) {
      if (performance.now() > deadline) return false;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return true;
  }
}

/** The text of a request with a JSON body. */
export function rawRequest(path: string, body: string, headers: readonly string[] = []): string {
  const length = `content-length: ${Buffer.byteLength(body)}`;
  const lines = [`POST ${path} HTTP/1.1`, 'host: 127.0.0.1', 'content-type: application/json', length, ...headers];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** The first status line of what a raw connection received, as an exchange. */
export function statusOf(received: string, started: number): Exchange {
  const [, status = '0'] = /^HTTP\/1\.1 (\d{3})/.exec(received) ?? [];
  return { status: Number(status), text: received, ms: performance.now() - started };
}
