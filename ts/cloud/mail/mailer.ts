/** Sends e-mails through the SMTP server of the operator. */
import type { Transporter } from 'nodemailer';
import { invalidValue } from '../../errors.js';
import { isLoopback } from '../../images/public-address.js';
import { TryCounter } from '../accounts/sign-in-limits.js';

export interface MailSettings {
  /** `smtp:` or `smtps:`, without a password. */
  url: string;
  password: string | null;
  /** Certificate authorities of the server, in place of the well-known ones. */
  ca?: Buffer | undefined;
  /** Address of the sender. */
  from: string;
}

export interface Mail {
  /** Stays the same in all attempts, so that mail servers can drop duplicates. */
  id: string;
  org: string;
  to: string;
  subject: string;
  text: string;
}

/** One plain address: no display name, list, quotes or line breaks. */
const ADDRESS = /^(?=.{3,254}$)[\w.+-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/;
/** An owner of an organisation can choose any address. */
const PER_ORG = { burst: 20, perMinute: 1 / 30, maxEntries: 10_000 };

export class Mailer {
  readonly #orgs = new TryCounter(PER_ORG);
  #transport: Promise<Transporter> | null = null;

  constructor(
    private readonly settings: MailSettings,
    /** Errors may name addresses of the operator's network, so only the operator sees them. */
    private readonly onError: (error: unknown) => void,
    private readonly timeoutMs = 15_000,
  ) {}

  /** Returns why the e-mail was not sent, or null. */
  async send({ id, org, to, subject, text }: Mail): Promise<string | null> {
    const seconds = this.#orgs.take(org);
    if (seconds > 0) return `the limit of e-mails is reached; the next one is possible in ${seconds} s`;
    this.#transport ??= this.#connect();
    const transport = await this.#transport;
    const sent = transport.sendMail({
      from: { name: 'chasqui', address: this.settings.from },
      to: { name: '', address: checkAddress(to, 'email') },
      subject,
      text,
      messageId: `<${id}@chasqui>`,
      headers: { 'auto-submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve('the mail server did not finish in time'), 2 * this.timeoutMs);
    });
    const done = sent.then(
      () => null,
      (error) => this.#explain(error),
    );
    return Promise.race([done, late]).finally(() => clearTimeout(timer));
  }

  #explain(error: Error): string {
    const reason = reasonOf(error);
    this.onError(new Error(`An e-mail was not sent: ${reason}`, { cause: error }));
    return reason;
  }

  async #connect(): Promise<Transporter> {
    const { createTransport } = await import('nodemailer');
    const { url, password, ca } = this.settings;
    const { protocol, hostname, port, username } = new URL(url);
    const isSecure = protocol === 'smtps:';
    return createTransport({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(port) || (isSecure ? 465 : 587),
      secure: isSecure,
      // Without it, an attacker in the network could suppress STARTTLS.
      requireTLS: !isSecure && !isLoopback(hostname),
      ...(ca && { tls: { ca } }),
      ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: password ?? '' } }),
      connectionTimeout: this.timeoutMs,
      greetingTimeout: this.timeoutMs,
      socketTimeout: this.timeoutMs,
    });
  }
}

/** `ETLS`: the negotiation of TLS failed. */
function reasonOf({ code, message, responseCode }: Error & { code?: string; responseCode?: number }): string {
  if (code === 'ETLS' && responseCode !== undefined) return 'the mail server does not offer TLS';
  if (responseCode !== undefined) return `the mail server replied with ${responseCode}`;
  if (/certificate/i.test(message)) return 'the certificate of the mail server is not trusted';
  return 'the mail server cannot be reached';
}

/** @throws {ChasquiError} `invalid_value`, naming `field` */
export function checkAddress(text: string, field: string): string {
  if (ADDRESS.test(text)) return text;
  throw invalidValue(`\`${field}\` must be one e-mail address such as ana@example.com.`, field);
}
