/** Settings of the mail server, from options and the environment. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { checkAddress, type MailSettings } from '../../cloud/mail/mailer.js';
import { invalidOptions } from '../../errors.js';
import { readSecret } from './read-secret.js';

interface MailOptions {
  smtpUrl?: string | undefined;
  smtpPasswordFile?: string | undefined;
  smtpCa?: string | undefined;
  mailFrom?: string | undefined;
}

/** Returns undefined without the options. @throws {ChasquiError} that names the option */
export function mailSettings(options: MailOptions, environment: NodeJS.ProcessEnv): MailSettings | undefined {
  const { smtpUrl: url, smtpPasswordFile: file, smtpCa: ca, mailFrom: from } = options;
  if (url === undefined || from === undefined) {
    if ([url, from, file, ca].every((each) => each === undefined)) return undefined;
    throw invalidOptions('`smtpUrl` and `mailFrom` are given together.');
  }
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isPlain = parsed !== null && ['', '/'].includes(parsed.pathname) && parsed.search === '';
  if (!isPlain || !['smtp:', 'smtps:'].includes(parsed.protocol) || parsed.hostname === '') {
    throw invalidOptions('`smtpUrl` must be an address such as smtp://user@mail.example:587.');
  }
  if (parsed.password !== '') {
    throw invalidOptions('`smtpUrl` must not contain the password. Use `smtpPasswordFile`.');
  }
  const password = readSecret(file, 'smtpPasswordFile', environment.CHASQUI_SMTP_PASSWORD);
  return { url, password, ca: ca === undefined ? undefined : readAuthority(ca), from: checkAddress(from, 'mailFrom') };
}

function readAuthority(file: string): Buffer {
  try {
    const pem = readFileSync(file);
    new X509Certificate(pem);
    return pem;
  } catch (error) {
    throw invalidOptions(`\`smtpCa\`: ${file} is no PEM file with certificates: ${(error as Error).message}.`);
  }
}
