/** Sends requests over one keep-alive connection, so the server needs no additional file descriptor for a reply. */
import http from 'node:http';

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a reply may be anything
  body: any;
}

export class OneConnection {
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

  constructor(readonly url: string) {}

  /** Sends an object as JSON. */
  ask(method: string, url: string, body?: object | Buffer, more: Record<string, string> = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const type = body instanceof Buffer ? 'application/octet-stream' : 'application/json';
      const headers = { 'content-type': type, ...more };
      const request = http.request(this.url + url, { method, headers, agent: this.#agent }, async (reply) => {
        let text = '';
        for await (const part of reply) text += part;
        resolve({ status: reply.statusCode ?? 0, body: text === '' ? null : JSON.parse(text) });
      });
      request.on('error', (error) => reject(new Error(`${method} ${url}: ${error.message}`, { cause: error })));
      request.end(body instanceof Buffer ? body : body && JSON.stringify(body));
    });
  }
}
