/**
 * Measures the minimum cost of forwarding bytes between two sockets in Node: it reads into one buffer and writes the bytes
 * unchanged. No HTTP, no checks, no backpressure. Takes the runner's socket and prints its own port.
 */
import net from 'node:net';
import process from 'node:process';

const [, , runnerSocket = ''] = process.argv;
const shared = Buffer.allocUnsafeSlow(64 * 1024);

const server = net.createServer({ noDelay: true }, (client) => {
  const runner: net.Socket = net.connect({
    path: runnerSocket,
    onread: {
      buffer: shared,
      callback: (count, bytes) => {
        client.write((bytes as Buffer).toString('latin1', 0, count), 'latin1');
        return true;
      },
    },
  });
  client.on('data', (data) => runner.write(data));
  client.on('close', () => runner.destroy());
  runner.on('close', () => client.destroy());
  for (const socket of [client, runner]) socket.on('error', () => undefined);
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as net.AddressInfo).port));
