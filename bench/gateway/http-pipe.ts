/**
 * A minimal HTTP proxy: Node's server, Node's client, and `pipe()` between them. Takes the runner's socket and prints its
 * own port.
 */
import http from 'node:http';
import type net from 'node:net';
import process from 'node:process';

const [, , socketPath = ''] = process.argv;

const server = http.createServer((request, response) => {
  const { method, headers, url = '/' } = request;
  const asked = http.request({ socketPath, method, headers, path: url }, (reply) => {
    response.writeHead(reply.statusCode ?? 502, reply.headers);
    reply.pipe(response);
  });
  asked.on('error', () => response.destroy());
  response.on('close', () => asked.destroy());
  request.pipe(asked);
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as net.AddressInfo).port));
