// E-mails over TLS, to a real SMTP server with a certificate that signs itself.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mailSettings } from '../../../ts/cli/cloud/mail-settings.ts';
import { Mailer } from '../../../ts/cloud/mail/mailer.ts';
import { makeCertificate } from '../../support/certificate.ts';

interface Context {
  folder: string;
  /** By name: `own` is for 127.0.0.1 and 0.0.0.0, `foreign` for another host. */
  certificates: Record<'own' | 'foreign', { cert: string; key: string }>;
  /** Commands that reached the server, and whether over TLS. */
  received: [command: string, isSecure: boolean][];
  errors: unknown[];
}

const test = suite<Context>('unit: e-mails over TLS');
const MAIL = { id: '0a', org: 'acme', to: 'ana@acme.example', subject: 'Budget', text: 'All of it.\n' };
const UNTRUSTED = 'the certificate of the mail server is not trusted';

test.before((context) => {
  context.folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-mail-'));
  context.certificates = {
    own: makeCertificate(context.folder, 'own', 'IP:127.0.0.1,IP:0.0.0.0'),
    foreign: makeCertificate(context.folder, 'foreign', 'DNS:mail.example'),
  };
});
test.before.each((context) => {
  context.received = [];
  context.errors = [];
});
test.after(({ folder }) => rmSync(folder, { recursive: true }));

interface Attempt {
  server?: SMTPServerOptions;
  certificate?: keyof Context['certificates'];
  /** Without it, the client trusts the well-known authorities. */
  ca?: keyof Context['certificates'];
  /** 0.0.0.0 reaches this machine, but is no loopback address, so TLS is required. */
  host?: string;
}

/** Returns why the e-mail was not sent, or null. */
async function send(context: Context, attempt: Attempt): Promise<string | null> {
  const { server: options, certificate = 'own', ca, host = '127.0.0.1' } = attempt;
  const { certificates, received, errors } = context;
  const note = (command: string, { secure }: { secure: boolean }) => received.push([command, secure]);
  const server = new SMTPServer({
    cert: readFileSync(certificates[certificate].cert),
    key: readFileSync(certificates[certificate].key),
    allowInsecureAuth: true,
    onAuth: (_auth, session, done) => {
      note('AUTH', session);
      done(null, { user: 'me' });
    },
    onData: (stream, session, done) => {
      note('DATA', session);
      stream.resume().on('end', () => done());
    },
    ...options,
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  const { port } = server.server.address() as AddressInfo;
  const given = {
    smtpUrl: `${options?.secure ? 'smtps' : 'smtp'}://me@${host}:${port}`,
    mailFrom: 'cloud@chasqui.example',
    smtpCa: ca && certificates[ca].cert,
  };
  const settings = mailSettings(given, { CHASQUI_SMTP_PASSWORD: 'secret' });
  const outcome = await new Mailer(settings as never, (error) => errors.push(error)).send(MAIL);
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return outcome;
}

const KINDS: [name: string, attempt: Attempt][] = [
  ['smtps', { server: { secure: true } }],
  ['STARTTLS', { host: '0.0.0.0' }],
  ['STARTTLS on this machine', {}],
];

for (const [name, attempt] of KINDS) {
  test(`${name}: password and text are sent over TLS to a server with a certificate of the CA`, async (context) => {
    assert.is(await send(context, { ...attempt, ca: 'own' }), null, String(context.errors[0]));
    assert.equal(context.received, [
      ['AUTH', true],
      ['DATA', true],
    ]);
  });

  test(`${name}: an unknown certificate and one for another host are refused, without plain text`, async (context) => {
    assert.is(await send(context, attempt), UNTRUSTED);
    assert.is(await send(context, { ...attempt, ca: 'foreign' }), UNTRUSTED);
    assert.is(await send(context, { ...attempt, certificate: 'foreign', ca: 'foreign' }), UNTRUSTED);
    assert.equal(context.received, []);
    assert.match(String(context.errors[0]), /^Error: An e-mail was not sent: the certificate/);
    assert.match(String((context.errors[2] as Error).cause), /mail\.example|altnames/);
  });
}

test('a server of another machine without STARTTLS gets neither password nor text', async (context) => {
  for (const server of [{ disabledCommands: ['STARTTLS'] }, { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] }]) {
    assert.is(await send(context, { server, host: '0.0.0.0', ca: 'own' }), 'the mail server does not offer TLS');
  }
  assert.is(await send(context, { server: { hideSTARTTLS: true }, host: '0.0.0.0', ca: 'own' }), null);
  assert.is(await send(context, { server: { disabledCommands: ['STARTTLS'] }, ca: 'own' }), null);
  assert.equal(context.received, [
    ['AUTH', true],
    ['DATA', true],
    ['AUTH', false],
    ['DATA', false],
  ]);
});

test('the certificate authority is a PEM file, and needs a server', ({ folder, certificates }) => {
  const given = { smtpUrl: 'smtps://mail.example', mailFrom: 'cloud@chasqui.example' };
  const file = path.join(folder, 'wrong.pem');
  writeFileSync(file, 'no certificate');
  assert.throws(() => mailSettings({ ...given, smtpCa: file }, {}), /`smtpCa`: .*wrong\.pem is no PEM file/);
  assert.throws(() => mailSettings({ ...given, smtpCa: `${file}.none` }, {}), /`smtpCa`: .*ENOENT/);
  assert.throws(() => mailSettings({ smtpCa: certificates.own.cert }, {}), /given together/);
});

test.run();
