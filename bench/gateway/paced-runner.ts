/**
 * A runner without an engine: it sends one token to every stream at a fixed interval, to all streams at the same time, as
 * an engine does. Its argument is the socket to listen on.
 */
import http, { type ServerResponse } from 'node:http';
import process from 'node:process';
import { REPORT_HEADER, USAGE_HEADER } from '../../ts/http/observe-requests.js';

const EVERY_MS = 10;
const [, , socketPath] = process.argv;
const head =
  '{"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"demo","choices":[';
const frame = `data: ${head}{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}\n\n`;

interface Stream {
  tokens: number;
  left: number;
}

const streams = new Map<ServerResponse, Stream>();
setInterval(() => {
  for (const [response, stream] of streams) {
    stream.left -= 1;
    if (stream.left > 0) {
      response.write(frame);
    } else {
      streams.delete(response);
      response.write('data: [DONE]\n\n');
      if (response.req.headers[REPORT_HEADER]) response.addTrailers({ [USAGE_HEADER]: `10,${stream.tokens},0` });
      response.end();
    }
  }
}, EVERY_MS);

http
  .createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.once('end', () => {
      const { max_tokens: tokens } = JSON.parse(text) as { max_tokens: number };
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'transfer-encoding': 'chunked' });
      response.write(frame);
      streams.set(response, { tokens, left: tokens });
      response.once('close', () => streams.delete(response));
    });
  })
  .listen(socketPath, () => console.log('listening'));
