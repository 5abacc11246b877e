/** A dashboard that listens, with accounts of its own and apps in memory. */
import { randomBytes, scryptSync } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { authorizer } from '../../ts/cloud/accounts/authorize.js';
import { accountsRoutes } from '../../ts/cloud/accounts/routes.js';
import type { Membership } from '../../ts/cloud/accounts/users.js';
import { Budgets } from '../../ts/cloud/budgets/budgets.js';
import { budgetRoutes } from '../../ts/cloud/budgets/routes.js';
import { dashboardRoutes } from '../../ts/cloud/dashboard/routes.js';
import { OidcProvider, type OidcSettings } from '../../ts/cloud/oidc/provider.js';
import { errorHandler } from '../../ts/http/error-handler.js';
import { LOCAL_TOKEN, type TestAccounts, testAccounts } from './cloud-accounts.js';
import { SampleApps } from './sample-apps.js';

export const PASSWORD = 'a relay of runners';

const WEBHOOK_KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const salt = randomBytes(16);
/** A check takes 4 ms. With the cost of new passwords it takes 450. */
const CHEAP_HASH = `scrypt$10$8$1$${salt.toString('base64url')}$${scryptSync(PASSWORD, salt, 32, { N: 2 ** 10 }).toString('base64url')}`;

export interface TestDashboard extends TestAccounts {
  app: FastifyInstance;
  apps: SampleApps;
  budgets: Budgets;
  url: string;
  /** Errors that the server reported. */
  serverErrors: unknown[];
  close(): Promise<void>;
}

/** `publicUrl` is where a proxy with TLS would have it; then it believes what the proxy says about requests. */
export async function startDashboard({
  publicUrl,
  oidc,
}: {
  publicUrl?: string;
  oidc?: OidcSettings;
} = {}): Promise<TestDashboard> {
  const made = testAccounts();
  const apps = new SampleApps();
  const serverErrors: unknown[] = [];
  const onServerError = (error: unknown) => serverErrors.push(error);
  const app = Fastify({ trustProxy: publicUrl !== undefined, forceCloseConnections: true });
  app.setErrorHandler(errorHandler({ onServerError, optionNames: {} }));
  const address = () => publicUrl ?? `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const authorize = authorizer({ ring: made.accounts.ring, localToken: LOCAL_TOKEN });
  const budgets = new Budgets({ ...made, keyOf: () => WEBHOOK_KEY, hosts: 'loopback', onError: onServerError });
  budgetRoutes(app, { budgets, accounts: made.accounts, authorize });
  accountsRoutes(app, { accounts: made.accounts, authorize, publicUrl: address });
  const provider = oidc && new OidcProvider(oidc, onServerError);
  dashboardRoutes(app, {
    ...{ accounts: made.accounts, budgets, apps, oidc: provider },
    ...{ publicUrl: address, onServerError },
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const close = async () => {
    await app.close();
    budgets.close();
    made.remove();
  };
  return { ...made, app, apps, budgets, url, serverErrors, close };
}

export function addOwner(dashboard: TestDashboard): void {
  addUser(dashboard, 'owner');
}

/** With the same password. */
export function addUser({ accounts, database }: TestDashboard, name: string, membership?: Membership): void {
  database.run('UPDATE users SET password = ? WHERE id = ?', [CHEAP_HASH, accounts.users.add(name, membership).id]);
}
