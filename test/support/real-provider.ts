/**
 * A process with npm's `oidc-provider`. Users are what they type; those of `unverified@` have no verified address. Accounts
 * that differ in what stands before a colon have the same address.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

const server = http.createServer();
server.listen(0, 'localhost', () => {
  // Another site than 127.0.0.1.
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'chasqui', client_secret: 'secret-of-the-client', redirect_uris: ['http://127.0.0.1/'] }],
    claims: { email: ['email', 'email_verified'] },
    pkce: { required: () => true },
    cookies: { keys: ['a key'] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => {
        return { sub: id, email: id.replace(/^.*:/, ''), email_verified: !id.startsWith('unverified@') };
      },
    }),
  });
  // The port of the cloud is not known yet.
  provider.Client.prototype.redirectUriAllowed = (uri) => uri.startsWith('http://127.0.0.1:');
  server.on('request', provider.callback());
  console.log(`The provider is at ${issuer}`);
});
