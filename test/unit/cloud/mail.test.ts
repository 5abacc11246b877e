// E-mails of alerts, sent to a real SMTP server.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import net from 'node:net';
import { SMTPServer } from 'smtp-server';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mailSettings } from '../../../ts/cli/cloud/mail-settings.ts';
import type { Actor } from '../../../ts/cloud/accounts/audit.ts';
import { setBudget } from '../../../ts/cloud/budgets/budget-changes.ts';
import { BudgetStore, STEPS } from '../../../ts/cloud/budgets/budget-store.ts';
import { type BudgetState, Budgets } from '../../../ts/cloud/budgets/budgets.ts';
import { budgetToJson } from '../../../ts/cloud/budgets/routes.ts';
import { checkAddress, Mailer } from '../../../ts/cloud/mail/mailer.ts';
import { type TestAccounts, testAccounts } from '../../support/cloud-accounts.ts';
import { until } from '../../support/until.ts';

interface Received {
  from: string;
  to: string[];
  text: string;
}

interface Context extends TestAccounts {
  server: SMTPServer;
  received: Received[];
  /** Replies of the server to the next messages; empty: accepted. */
  refusals: number[];
  mailer: Mailer;
  errors: unknown[];
}

const test = suite<Context>('unit: e-mails');
const OWNER: Actor = { kind: 'user', name: 'ana', org: 'acme', app: null, address: null };
const WEBHOOK_KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const MAIL = { id: '0a', org: 'acme', to: 'ana@acme.example', subject: 'Budget', text: 'All of it.\n' };

test.before.each(async (context) => {
  Object.assign(context, testAccounts(), { received: [], refusals: [], errors: [] });
  context.server = new SMTPServer({
    authOptional: false,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username, password }, _session, done) =>
      username === 'me@mail' && password === 'secret' ? done(null, { user: 'me' }) : done(new Error('wrong password')),
    async onData(stream, session, done) {
      const text = Buffer.concat(await stream.toArray()).toString();
      const [refusal] = context.refusals.splice(0, 1);
      if (refusal !== undefined) return done(Object.assign(new Error('not now'), { responseCode: refusal }));
      const { mailFrom, rcptTo } = session.envelope;
      context.received.push({ from: (mailFrom || { address: '' }).address, to: rcptTo.map((to) => to.address), text });
      return done();
    },
  });
  await new Promise<void>((resolve) => context.server.listen(0, '127.0.0.1', resolve));
  context.mailer = mailerOf(context, urlOf(context.server.server));
});

test.after.each(async ({ server, remove }) => {
  await new Promise<void>((resolve) => server.close(() => resolve()));
  remove();
});

function urlOf(server: net.Server): string {
  return `smtp://me%40mail@127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function mailerOf({ errors }: Context, url: string, password = 'secret', timeoutMs?: number): Mailer {
  return new Mailer({ url, password, from: 'cloud@chasqui.example' }, (error) => errors.push(error), timeoutMs);
}

function budgetsOf({ database, errors }: Context, mailer?: Mailer): Budgets {
  return new Budgets({
    ...{ database, mailer, hosts: 'loopback', keyOf: () => WEBHOOK_KEY },
    onError: (error) => errors.push(error),
  });
}

function use(budgets: Budgets, tokens: number): void {
  const usage = { keyId: null, org: 'acme', app: 'chat', at: Date.now(), cachedTokens: 0, status: 200, ms: 1 };
  budgets.count({ ...usage, promptTokens: tokens, completionTokens: 0 });
  budgets.tick();
}

test('a budget sends a warning and its end to one address, and repeats what the server refused', async (context) => {
  const { accounts, received, refusals } = context;
  const budgets = budgetsOf(context, context.mailer);
  setBudget({ budgets, accounts }, OWNER, { org: 'acme', keyId: '' }, { tokens: 100, email: 'ana@acme.example' });
  refusals.push(451);
  use(budgets, 85);
  await until(() => received.length === 1, 'the warning, after a retry');
  use(budgets, 20);
  const delivered = () => budgets.list()[0]?.alerts.flatMap(({ deliveries }) => deliveries.map(({ due }) => due));
  await until(() => received.length === 2 && delivered()?.join() === ',', 'the end');
  budgets.close();
  for (const { from, to } of received) assert.equal([from, to], ['cloud@chasqui.example', ['ana@acme.example']]);
  const [warning = '', limit = ''] = received.map(({ text }) => text);
  assert.match(warning, /^Subject: Budget of the organisation acme: used 85 % of its limit\r$/m);
  assert.match(warning, /^Auto-Submitted: auto-generated\r$/im);
  assert.match(limit, /Used: 105 of 100 tokens at /);
  assert.match(limit, /Further requests are refused until the month ends/);
  const ids = received.map(({ text }) => /^Message-ID: <([0-9a-f]{32})@chasqui>\r$/m.exec(text)?.[1]);
  assert.is(new Set(ids).size, 2);
  const json = budgets.list().map(budgetToJson)[0];
  assert.equal([json?.email, json?.webhook_host], ['ana@acme.example', null]);
  assert.equal(
    json?.alerts.map(({ email, webhook, error }) => [email, webhook, error]),
    [
      ['delivered', null, null],
      ['delivered', null, null],
    ],
  );
  assert.match(String((context.errors[0] as Error).cause), /451/);
});

test('a budget alerts by webhook and e-mail, and a failing webhook does not delay the e-mail', async (context) => {
  const { accounts, received, database } = context;
  const statuses = [500, 204];
  const calls: string[] = [];
  const receiver = http.createServer((request, response) => {
    calls.push(String(request.headers['webhook-id']));
    response.writeHead(statuses.shift() ?? 204).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const webhook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const budgets = budgetsOf(context, context.mailer);
  const body = { tokens: 100, webhook, email: 'ana@acme.example' };
  setBudget({ budgets, accounts }, OWNER, { org: 'acme', keyId: '' }, body);
  use(budgets, 85);
  const state = () => budgets.list().map(budgetToJson)[0];
  const alert = () => state()?.alerts[0];
  await until(() => calls.length === 1 && received.length === 1 && alert()?.email === 'delivered', 'both');
  await until(() => alert()?.error === 'it replied with status 500', 'the failure of the webhook');
  assert.equal([alert()?.webhook, alert()?.email], ['pending', 'delivered']);
  await until(() => alert()?.webhook === 'delivered', 'the second call');
  assert.equal([state()?.webhook_host, state()?.email, alert()?.error], [new URL(webhook).host, body.email, null]);
  assert.equal([received.length, new Set(calls).size], [1, 1]);
  budgets.close();
  await new Promise((resolve) => receiver.close(resolve));
  budgets.set({ ...(budgets.list()[0] as BudgetState), webhook: null });
  assert.equal(database.all('SELECT * FROM budget_deliveries WHERE error IS NOT NULL OR target = ?', [webhook]), []);
});

test('targets and pending alerts of an earlier version are kept', (context) => {
  const { database } = context;
  database.migrate('budgets', STEPS.slice(0, 1));
  database.exec(`INSERT INTO budgets VALUES ('acme', '', 100, NULL, 80, 'mailto:ana@acme.example', 0),
    ('globex', '', 100, NULL, 80, 'https://globex.example/hook', 0)`);
  database.exec(`INSERT INTO budget_alerts VALUES
    ('a1', 'acme', '', '2026-01', 'tokens', 'warning', 90, 100, 5, 'mailto:ana@acme.example', 7, 1, 'it failed'),
    ('a2', 'globex', '', '2026-01', 'tokens', 'limit', 100, 100, 5, 'https://globex.example/hook', NULL, 1, NULL)`);
  const store = new BudgetStore(database);
  assert.equal(
    store.list().map(({ org, webhook, email }) => [org, webhook, email]),
    [
      ['acme', null, 'ana@acme.example'],
      ['globex', 'https://globex.example/hook', null],
    ],
  );
  const due = store.dueDelivery([], []);
  assert.equal([due?.delivery.id, due?.delivery.attempts, due?.alert.used], ['a1', 1, 90]);
  assert.is(store.dueDelivery([], ['a1']), undefined);
  assert.is(store.alerts({ org: 'globex', keyId: '' }, '2026-01')[0]?.deliveries[0]?.due, null);
});

const HOSTILE = [
  'ana@acme.example\r\nBcc: eve@evil.example',
  'ana@acme.example\nSubject: x',
  'ana@acme.example, eve@evil.example',
  'ana@acme.example;eve@evil.example',
  '"Ana" <ana@acme.example>',
  '<ana@acme.example>',
  'ana@acme.example> SIZE=1',
  'ana@[127.0.0.1]',
  'ana@localhost',
  '@acme.example',
  'ana',
  'ana @acme.example',
  'ana@acme.example ',
  `${'a'.repeat(250)}@acme.example`,
  'ana@acmе.example',
];

test('an address is one plain address, and no header can be injected', async (context) => {
  const { accounts, mailer, received } = context;
  const budgets = budgetsOf(context, mailer);
  for (const email of HOSTILE) {
    assert.throws(() => checkAddress(email, 'email'), /`email` must be one e-mail address/, email);
    const set = () => setBudget({ budgets, accounts }, OWNER, { org: 'acme', keyId: '' }, { tokens: 1, email });
    assert.throws(set, (error: { code: string; param: string }) => error.param === 'email', email);
    assert.is(await mailer.send({ ...MAIL, to: email }).catch(({ code }) => code), 'invalid_value', email);
  }
  budgets.close();
  assert.equal(received, []);
  assert.is(await mailer.send({ ...MAIL, subject: 'Budget\r\nBcc: eve@evil.example', text: '.\r\nQUIT\r\n' }), null);
  const [{ to, text } = { to: [], text: '' }] = received;
  assert.equal(to, ['ana@acme.example']);
  assert.not.match(text.split('\r\n\r\n')[0] ?? '', /^Bcc:/im);
});

test('an address needs a mail server, and a webhook is no address', (context) => {
  const { accounts } = context;
  const refusal = (budgets: Budgets, body: object) => {
    try {
      setBudget({ budgets, accounts }, OWNER, { org: 'acme', keyId: '' }, { tokens: 1, ...body });
      return null;
    } catch (error) {
      return (error as Error).message;
    } finally {
      budgets.close();
    }
  };
  const email = 'ana@acme.example';
  assert.match(refusal(budgetsOf(context), { email }) ?? '', /`email` needs an SMTP server/);
  assert.match(refusal(budgetsOf(context, context.mailer), { webhook: `mailto:${email}` }) ?? '', /is no https URL/);
});

test('failures are bounded, and organisations learn no address of the mail server', async (context) => {
  const wrong = mailerOf(context, urlOf(context.server.server), 'wrong');
  assert.is(await wrong.send(MAIL), 'the mail server replied with 535');
  const closed = net.createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const url = urlOf(closed);
  await new Promise((resolve) => closed.close(resolve));
  assert.is(await mailerOf(context, url).send(MAIL), 'the mail server cannot be reached');
  assert.is(context.errors.length, 2);
});

test('a server that stays silent, or is endlessly slow, is given up', async (context) => {
  const timers: NodeJS.Timeout[] = [];
  // A busy machine pauses the slow server, but not for seconds.
  for (const [drip, timeoutMs, says] of [
    [false, 300, 'the mail server cannot be reached'],
    [true, 3000, 'the mail server did not finish in time'],
  ] as const) {
    const sockets = new Set<net.Socket>();
    const slow = net.createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      if (drip) socket.write('220 mail\r\n');
      if (drip) timers.push(setInterval(() => socket.write('250-x\r\n'), 5));
    });
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    assert.is(await mailerOf(context, urlOf(slow), 'secret', timeoutMs).send(MAIL), says);
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => slow.close(resolve));
  }
  for (const timer of timers) clearInterval(timer);
});

test('an organisation cannot send many e-mails, and does not use up the limit of others', async ({
  mailer,
  received,
}) => {
  const outcomes = [];
  for (let i = 0; i < 22; i++) outcomes.push(await mailer.send({ ...MAIL, id: String(i) }));
  assert.is(received.length, 20);
  assert.match(outcomes.at(-1) ?? '', /the limit of e-mails is reached; the next one is possible in \d+ s/);
  assert.is(await mailer.send({ ...MAIL, org: 'globex' }), null);
});

test('the options name a server without a password, and a sender', () => {
  const given = { smtpUrl: 'smtps://me@mail.example', mailFrom: 'cloud@chasqui.example' };
  const { CHASQUI_SMTP_PASSWORD: _, ...environment } = process.env;
  assert.is(mailSettings({}, environment), undefined);
  assert.is(mailSettings(given, { CHASQUI_SMTP_PASSWORD: 'secret' })?.password, 'secret');
  for (const [options, says] of [
    [{ smtpUrl: given.smtpUrl }, /`smtpUrl` and `mailFrom` are given together/],
    [{ mailFrom: given.mailFrom }, /given together/],
    [{ ...given, smtpUrl: 'http://mail.example' }, /`smtpUrl` must be an address/],
    [{ ...given, smtpUrl: 'smtp://mail.example/?proxy=file:///x' }, /`smtpUrl` must be an address/],
    [{ ...given, smtpUrl: 'smtp://me:secret@mail.example' }, /must not contain the password/],
    [{ ...given, mailFrom: 'a@b.example\r\nBcc: x@y.example' }, /`mailFrom` must be one e-mail address/],
  ] as const) {
    assert.throws(() => mailSettings(options, environment), says);
  }
});

test.run();
