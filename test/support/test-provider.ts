/** An OpenID Connect provider for tests, which can change its tokens. It checks client, code and PKCE as real ones do. */
import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

export const CLIENT = { clientId: 'chasqui', clientSecret: 'a secret: with/odd characters' };

type Claims = Record<string, unknown>;

export class TestProvider {
  /** Merged into the claims of the next ID tokens; undefined removes a claim. */
  claims: Claims = {};
  userinfo: Claims = {};
  /** Signs with a key that the provider does not publish. */
  hasForeignKey = false;
  isSilent = false;
  readonly requests: string[] = [];
  readonly #codes = new Map<string, { challenge: string; nonce: string; redirectUri: string; more: Claims }>();

  private constructor(
    private readonly server: http.Server,
    private readonly keys: Record<'own' | 'foreign', Awaited<ReturnType<typeof generateKeyPair>>>,
  ) {}

  static async start(): Promise<TestProvider> {
    const keys = { own: await generateKeyPair('ES256'), foreign: await generateKeyPair('ES256') };
    const server = http.createServer((request, response) => provider.#reply(request, response));
    const provider = new TestProvider(server, keys);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Lets the user consent. Returns the path of the callback. `more`: claims of this sign-in alone. */
  consent(location: string | null, more: Claims = {}): string {
    const asked = new URL(location ?? '').searchParams;
    const code = randomBytes(16).toString('hex');
    const [redirectUri = '', state = '', nonce = '', challenge = ''] = [
      ...['redirect_uri', 'state', 'nonce', 'code_challenge'].map((name) => asked.get(name) ?? ''),
    ];
    this.#codes.set(code, { challenge, nonce, redirectUri, more });
    return `${new URL(redirectUri).pathname}?${new URLSearchParams({ code, state, iss: this.issuer })}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #reply(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '', this.issuer);
    this.requests.push(pathname);
    if (this.isSilent) return void request.socket.destroy();
    const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString());
    const [status, body] = await this.#answer(pathname, form, request.headers.authorization);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  async #answer(pathname: string, form: URLSearchParams, authorization = ''): Promise<[number, object]> {
    const { issuer } = this;
    if (pathname === '/jwks') return [200, { keys: [{ ...(await exportJWK(this.keys.own.publicKey)), alg: 'ES256' }] }];
    if (pathname === '/userinfo') return [200, { sub: 'ana', ...this.userinfo }];
    if (pathname === '/token') return this.#token(form, authorization);
    if (pathname !== '/.well-known/openid-configuration') return [404, {}];
    const endpoints = ['authorization', 'token', 'userinfo'].map((name) => [
      `${name}_endpoint`,
      `${issuer}/${name === 'authorization' ? 'authorize' : name}`,
    ]);
    const metadata = { issuer, jwks_uri: `${issuer}/jwks`, id_token_signing_alg_values_supported: ['ES256'] };
    return [
      200,
      { ...metadata, ...Object.fromEntries(endpoints), authorization_response_iss_parameter_supported: true },
    ];
  }

  async #token(form: URLSearchParams, authorization: string): Promise<[number, object]> {
    const { clientId, clientSecret } = CLIENT;
    const basic = [clientId, clientSecret]
      .map((text) => new URLSearchParams({ t: text }).toString().slice(2))
      .join(':');
    if (authorization !== `Basic ${Buffer.from(basic).toString('base64')}`) return [401, { error: 'invalid_client' }];
    const code = this.#codes.get(form.get('code') ?? '');
    this.#codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (code?.challenge !== challenge || code.redirectUri !== form.get('redirect_uri')) {
      return [400, { error: 'invalid_grant' }];
    }
    const now = Math.floor(Date.now() / 1000);
    const own = { iss: this.issuer, aud: clientId, sub: 'ana', nonce: code.nonce, iat: now, exp: now + 300 };
    const email = { email: 'ana@acme.example', email_verified: true };
    const { privateKey } = this.keys[this.hasForeignKey ? 'foreign' : 'own'];
    const token = await new SignJWT({ ...own, ...email, ...this.claims, ...code.more })
      .setProtectedHeader({ alg: 'ES256' })
      .sign(privateKey);
    return [200, { access_token: 'access', token_type: 'bearer', id_token: token }];
  }
}
