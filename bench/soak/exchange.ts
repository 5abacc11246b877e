/** One HTTP exchange that can be dropped or paused at a chosen point. */
import { request } from 'node:http';

export interface Call {
  path?: string;
  method?: string;
  body: string;
  contentType?: string;
  /** Drops the connection after this many milliseconds, or after this many chunks of the reply. */
  dropAfterMs?: number;
  dropAfterPieces?: number;
  /** Sends only the first half of the body; used with `dropAfterMs`. */
  halfBody?: boolean;
  /** Pauses reading for this many milliseconds after the first chunk. */
  pauseMs?: number;
}

export interface Reply {
  status: number;
  contentType: string;
  text: string;
  dropped: boolean;
}

/** Longer than any reply takes. A request that still waits after this time has been lost. */
let patienceMs = 180_000;

/** For servers that run under a sanitizer or a debugger. */
export function haveMorePatience(factor: number): void {
  patienceMs *= factor;
}

/** Resolves with the reply, or with its received part if the client dropped it. Rejects if the server dropped it. */
export function exchange(port: number, call: Call): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const reply: Reply = { status: 0, contentType: '', text: '', dropped: false };
    const timers: NodeJS.Timeout[] = [];
    const finish = (error?: Error): void => {
      for (const timer of timers) clearTimeout(timer);
      if (error && !reply.dropped) reject(error);
      else resolve(reply);
    };
    const headers = { 'content-type': call.contentType ?? 'application/json' };
    const { path = '/v1/chat/completions', method = 'POST' } = call;
    // No keep-alive: the server may close an idle connection at the moment of its reuse.
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: false });
    const drop = (): void => {
      reply.dropped = true;
      outgoing.destroy();
      finish();
    };
    const forgotten = () => outgoing.destroy(new Error(`no complete answer within ${patienceMs / 1000} s`));
    timers.push(setTimeout(forgotten, patienceMs));
    if (call.dropAfterMs !== undefined) timers.push(setTimeout(drop, call.dropAfterMs));

    outgoing.on('response', (incoming) => {
      let pieces = 0;
      reply.status = incoming.statusCode ?? 0;
      reply.contentType = incoming.headers['content-type'] ?? '';
      incoming.setEncoding('utf8');
      incoming.on('data', (data: string) => {
        reply.text += data;
        pieces += 1;
        if (pieces === call.dropAfterPieces) drop();
        if (pieces === 1 && call.pauseMs) {
          incoming.pause();
          timers.push(setTimeout(() => incoming.resume(), call.pauseMs));
        }
      });
      incoming.on('error', finish);
      incoming.on('end', () => finish());
    });
    outgoing.on('error', finish);
    outgoing.setHeader('content-length', Buffer.byteLength(call.body));
    if (call.halfBody) outgoing.write(call.body.slice(0, call.body.length >> 1));
    else outgoing.end(call.body);
  });
}
