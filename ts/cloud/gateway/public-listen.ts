/** Keys must not cross a network in plain text: whether a gateway may listen where it was told to. */
import ipaddr from 'ipaddr.js';
import { ChasquiError } from '../../errors.js';

export interface ListenSettings {
  host: string;
  /** Whether the gateway has a certificate of its own. */
  hasCertificate: boolean;
  /** Whether a proxy in front has one. */
  trustProxy: boolean;
  /** Whether somebody insists on doing without. */
  insecure: boolean;
}

/** @throws {ChasquiError} `invalid_options` for an address that others can reach, without TLS. */
export function refusePlainPublicListen({ host, hasCertificate, trustProxy, insecure }: ListenSettings): void {
  if (hasCertificate || trustProxy || insecure || isLoopback(host)) return;
  const error = new ChasquiError(
    'invalid_options',
    `At ${host} others can reach the gateway, and would send their keys in plain text. Give it \`tlsCert\` and \`tlsKey\`, ` +
      'or set `trustProxy` if a proxy in front has TLS, or `insecure` if you mean it.',
  );
  error.option = 'tlsCert';
  throw error;
}

export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (name === 'localhost') return true;
  return ipaddr.isValid(name) && ipaddr.process(name).range() === 'loopback';
}
