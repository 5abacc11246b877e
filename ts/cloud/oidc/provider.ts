/** The OpenID Connect provider: discovery, authorization requests, and the identity and verified e-mail address of a user. */
import type { Configuration, CustomFetchOptions } from 'openid-client';
import { isLoopback } from '../../images/public-address.js';
import type { Identity } from '../accounts/users.js';
import { challengeOf, type SignInState } from './sign-in-state.js';

export interface OidcSettings {
  issuer: string;
  clientId: string;
  /** Null: a public client. */
  clientSecret: string | null;
  /** Allowed domains of e-mail addresses, in lower case; empty: all. */
  domains: readonly string[];
}

/** `unavailable`: repeating the request may help. `text` is for the user, `cause` for the operator. */
export class SignInRefused extends Error {
  constructor(
    readonly text: string,
    readonly options: ErrorOptions & { isUnavailable?: boolean } = {},
  ) {
    super(text, options);
  }
}

const TIMEOUT_SECONDS = 10;
const CLOCK_TOLERANCE_SECONDS = 30;
const METADATA_MS = 3_600_000;
const FAILURE_MS = 5000;
const MAX_EXCHANGES = 16;
const MAX_REPLY_BYTES = 1024 * 1024;
/** The limit of the specification. */
const MAX_SUBJECT_LENGTH = 255;
/** The limit of user names. */
const EMAIL = /^(?=.{3,64}$)[^\s@]+@([^\s@]+)$/;

export class OidcProvider {
  /** Shown to users. */
  readonly name: string;
  #metadata: { promise: Promise<Configuration>; until: number } | null = null;
  #exchanges = 0;

  constructor(
    private readonly settings: OidcSettings,
    private readonly onError: (error: unknown) => void,
  ) {
    this.name = new URL(settings.issuer).host;
  }

  /** @throws {SignInRefused} if the provider is unavailable */
  async authorizationUrl({ state, nonce, verifier }: SignInState, redirectUri: string, again: boolean): Promise<URL> {
    const client = await import('openid-client');
    return client.buildAuthorizationUrl(await this.#configuration(), {
      redirect_uri: redirectUri,
      scope: 'openid email',
      state,
      nonce,
      code_challenge: challengeOf(verifier),
      code_challenge_method: 'S256',
      ...(again && { prompt: 'login' }),
    });
  }

  /**
   * Exchanges the code of a callback. `email` is verified.
   *
   * @throws {SignInRefused}
   */
  async identityOf(callback: URL, checks: SignInState): Promise<Identity & { email: string }> {
    if (this.#exchanges >= MAX_EXCHANGES) {
      throw new SignInRefused('Too many sign-ins at the moment. Try again in a few seconds.', { isUnavailable: true });
    }
    this.#exchanges++;
    try {
      const claims = await this.#claims(callback, checks);
      const { iss: issuer, sub: subject } = claims;
      if (subject.length > MAX_SUBJECT_LENGTH)
        throw new SignInRefused(`The subject that ${this.name} sent is too long.`);
      return { issuer, subject, email: this.#allowedEmail(claims) };
    } finally {
      this.#exchanges--;
    }
  }

  async #claims(callback: URL, { state, nonce, verifier }: SignInState): Promise<Claims> {
    const client = await import('openid-client');
    const configuration = await this.#configuration();
    try {
      const tokens = await client.authorizationCodeGrant(configuration, callback, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims() as Claims;
      if (claims.email !== undefined || !configuration.serverMetadata().userinfo_endpoint) return claims;
      const { email, email_verified } = await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { ...claims, email, email_verified };
    } catch (error) {
      throw this.#refusal(error);
    }
  }

  #allowedEmail({ email, email_verified: verified }: Claims): string {
    const [address, domain = ''] = (typeof email === 'string' && EMAIL.exec(email)) || [];
    if (address === undefined) throw new SignInRefused(`${this.name} did not send a valid e-mail address.`);
    if (verified !== true) throw new SignInRefused(`${this.name} has not verified the e-mail address ${address}.`);
    const { domains } = this.settings;
    if (domains.length === 0 || domains.includes(domain.toLowerCase())) return address;
    throw new SignInRefused(`E-mail addresses of ${domain} may not sign in here.`);
  }

  #refusal(error: unknown): SignInRefused {
    const { code, error: oauthError, message } = error as { code?: string; error?: string; message?: string };
    if (code === 'OAUTH_TIMEOUT' || message === 'fetch failed') return this.#unavailable(error);
    const reason = /^\w{1,60}$/.exec(oauthError ?? code ?? '')?.[0] ?? 'unknown error';
    const text =
      oauthError === undefined
        ? `The reply of ${this.name} is invalid (${reason}). Try again.`
        : `${this.name} refused the sign-in (${reason}). Try again.`;
    return new SignInRefused(text, { cause: error });
  }

  #unavailable(cause: unknown): SignInRefused {
    const text = `Could not reach ${this.name}. Try again later, or sign in with a password.`;
    return new SignInRefused(text, { cause, isUnavailable: true });
  }

  /** Metadata is refreshed hourly. A failure is repeated to all callers for a few seconds. */
  #configuration(): Promise<Configuration> {
    const now = performance.now();
    if (this.#metadata !== null && now < this.#metadata.until) return this.#metadata.promise;
    const promise = this.#discover().catch((error) => {
      if (this.#metadata?.promise === promise) this.#metadata.until = performance.now() + FAILURE_MS;
      this.onError(new Error(`OpenID Connect discovery at ${this.settings.issuer} failed`, { cause: error }));
      throw this.#unavailable(error);
    });
    this.#metadata = { promise, until: now + METADATA_MS };
    return promise;
  }

  async #discover(): Promise<Configuration> {
    const client = await import('openid-client');
    const { issuer, clientId, clientSecret } = this.settings;
    const server = new URL(issuer);
    const configuration = await client.discovery(
      server,
      clientId,
      { [client.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
      // The basic authentication is the default of the specification; the method depends on the metadata.
      (metadata, ...rest) => {
        if (clientSecret === null) return client.None()(metadata, ...rest);
        const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
        const isBasic = methods.includes('client_secret_basic');
        return (isBasic ? client.ClientSecretBasic : client.ClientSecretPost)(clientSecret)(metadata, ...rest);
      },
      {
        timeout: TIMEOUT_SECONDS,
        [client.customFetch]: boundedFetch,
        // Also checks signatures of ID tokens that came over TLS.
        execute: [
          client.enableNonRepudiationChecks,
          ...(isLoopback(server.hostname) ? [client.allowInsecureRequests] : []),
        ],
      },
    );
    return configuration;
  }
}

interface Claims {
  iss: string;
  sub: string;
  email?: unknown;
  email_verified?: unknown;
}

async function boundedFetch(url: string, options: CustomFetchOptions): Promise<Response> {
  const reply = await fetch(url, options as RequestInit);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of reply.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_REPLY_BYTES) throw new Error(`The reply of ${url} has more than ${MAX_REPLY_BYTES} bytes.`);
    chunks.push(chunk);
  }
  const isEmpty = [204, 205, 304].includes(reply.status);
  const { status, headers } = reply;
  const whole = new Response(isEmpty ? null : Buffer.concat(chunks), { status, headers });
  return Object.defineProperty(whole, 'url', { value: reply.url });
}
