/** A server with paths for images and for faulty replies. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { picture } from './image-files.js';

type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void;

export interface ImageServer {
  /** `http://127.0.0.1:<port>` */
  url: string;
  port: number;
  /** Paths asked for, in order. */
  seen: string[];
  /** Connections that are open. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

/** Serves `/png` and the paths of `handlers`. */
export async function imageServer(handlers: Record<string, Handler> = {}): Promise<ImageServer> {
  const png = await picture('png');
  const seen: string[] = [];
  const paths: Record<string, Handler> = {
    '/png': (_, response) => response.setHeader('content-type', 'image/png').end(png),
    ...handlers,
  };
  const server = http.createServer((request, response) => {
    const path = request.url ?? '';
    seen.push(path);
    const handler = paths[path] ?? paths[`/${path.split('/')[1]}`];
    if (handler) handler(request, response);
    else response.writeHead(404).end('not here');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    seen,
    connections: () => new Promise((resolve) => server.getConnections((_, count) => resolve(count))),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function redirect(to: string, status = 302): Handler {
  return (_, response) => response.writeHead(status, { location: to }).end();
}

/** `/hops/3` leads to `/png` in three redirects. */
export const hops: Handler = (request, response) => {
  const left = Number(request.url?.split('/')[2]);
  redirect(left > 1 ? `/hops/${left - 1}` : '/png')(request, response);
};

/** Accepts and says nothing. */
export const silence: Handler = () => undefined;

/** Sends bytes without end and without a content length. */
export const endless: Handler = (_, response) => {
  response.writeHead(200, { 'content-type': 'image/png' });
  const chunk = Buffer.alloc(1024 * 1024);
  const send = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', send);
  send();
};

/** One byte now and then: never idle, never done. */
export const trickle: Handler = (_, response) => {
  response.writeHead(200, { 'content-type': 'image/png' });
  const timer = setInterval(() => response.write('x'), 20);
  response.on('close', () => clearInterval(timer));
};
