/** One HTTP exchange with the server, which may be broken off, or read slowly, at a chosen point. */
import { request } from 'node:http';

export interface Call {
  path?: string;
  method?: string;
  body: string;
  contentType?: string;
  /** Breaks the connection: after so many milliseconds, or when so many pieces of the reply have arrived. */
  dropAfterMs?: number;
  dropAfterPieces?: number;
  /** Sends only the first half of the body; goes with `dropAfterMs`. */
  halfBody?: boolean;
  /** Stops reading for so long after the first piece. */
  pauseMs?: number;
}

export interface Reply {
  status: number;
  contentType: string;
  text: string;
  dropped: boolean;
}

/** Longer than any answer takes, however many wait: whoever is still waiting then was forgotten. */
let patienceMs = 180_000;

/** For servers that are slow because of what watches them. */
export function haveMorePatience(factor: number): void {
  patienceMs *= factor;
}

/** Resolves with the reply, or with what had arrived of it when we dropped it. Rejects when the server broke it off. */
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
    // A connection each: one that is kept may be closed by the server just when it is used again.
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
