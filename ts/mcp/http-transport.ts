/** A remote server, over streamable HTTP. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { HttpServerConfig } from './mcp-config.js';
import { MAX_MESSAGE_BYTES } from './message-lines.js';
import { tooLong } from './too-long.js';

export function httpTransport({ url, headers }: HttpServerConfig): StreamableHTTPClientTransport {
  const transport = new StreamableHTTPClientTransport(url, {
    requestInit: { headers, redirect: 'error' },
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1000,
      maxReconnectionDelay: 1000,
      reconnectionDelayGrowFactor: 1,
    },
    fetch: async (address, init = {}) => {
      // Notifications of the server are not used, so no stream is opened for them.
      if ((init.method ?? 'GET') === 'GET') return new Response(null, { status: 405 });
      const reply = await fetch(address, init);
      if (reply.body === null) return reply;
      const exceeded = (): void => {
        const id = idOf(init.body);
        if (id !== null) transport.onmessage?.(tooLong(id));
      };
      return new Response(reply.body.pipeThrough(limiter(exceeded)), reply);
    },
  });
  return transport;
}

function idOf(body: unknown): string | number | null {
  const { id } = (typeof body === 'string' ? JSON.parse(body) : {}) as { id?: string | number };
  return id ?? null;
}

function limiter(exceeded: () => void): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  return new TransformStream({
    transform(chunk, controller) {
      length += chunk.byteLength;
      if (length <= MAX_MESSAGE_BYTES) return controller.enqueue(chunk);
      exceeded();
      controller.error(new Error('The reply is too long.'));
    },
  });
}
