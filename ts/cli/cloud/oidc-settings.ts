/** Settings of the OpenID Connect provider, from options and the environment. */
import type { OidcSettings } from '../../cloud/oidc/provider.js';
import { invalidOptions } from '../../errors.js';
import { isLoopback } from '../../images/public-address.js';
import { readSecret } from './read-secret.js';

interface OidcOptions {
  oidcIssuer?: string | undefined;
  oidcClientId?: string | undefined;
  oidcSecretFile?: string | undefined;
  oidcDomain?: readonly string[] | undefined;
}

/** Returns undefined without the options. @throws {ChasquiError} `invalid_options` */
export function oidcSettings(options: OidcOptions, environment: NodeJS.ProcessEnv): OidcSettings | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcSecretFile: file, oidcDomain: domains = [] } = options;
  if (issuer === undefined || clientId === undefined) {
    if ([issuer, clientId, file].every((each) => each === undefined) && domains.length === 0) return undefined;
    throw invalidOptions('`oidcIssuer` and `oidcClientId` are given together.');
  }
  const { protocol = '', hostname = '' } = URL.canParse(issuer) ? new URL(issuer) : {};
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(hostname))) {
    throw invalidOptions('`oidcIssuer` must be an https address such as https://accounts.example.');
  }
  const clientSecret = readSecret(file, 'oidcSecretFile', environment.CHASQUI_OIDC_SECRET);
  return { issuer, clientId, clientSecret, domains: domains.map((domain) => domain.toLowerCase()) };
}
