/** Asks a server that listens on a Unix socket. */
import http from 'node:http';

/** The body of its reply to a GET. */
export function requestOverSocket(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.get({ socketPath, path, headers: { host: 'localhost' } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (data) => {
        text += data;
      });
      response.on('end', () => resolve(text));
    });
    request.on('error', reject);
  });
}
