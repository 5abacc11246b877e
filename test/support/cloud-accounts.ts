/** The accounts of a cloud in a folder of their own, and an application with their routes. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import { type Accounts, openAccounts } from '../../ts/cloud/accounts/accounts.js';
import { authorizer } from '../../ts/cloud/accounts/authorize.js';
import { accountsRoutes } from '../../ts/cloud/accounts/routes.js';
import { type Database, openDatabase } from '../../ts/cloud/store/database.js';
import { errorHandler } from '../../ts/http/error-handler.js';

export const LOCAL_TOKEN = 'the-token-that-a-file-of-this-machine-holds';
export const PUBLIC_URL = 'https://cloud.example';

export interface TestAccounts {
  folder: string;
  database: Database;
  accounts: Accounts;
  remove(): void;
}

export function testAccounts(): TestAccounts {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-accounts-'));
  const database = openDatabase(path.join(folder, 'cloud'));
  const accounts = openAccounts({ database, home: folder, flushMs: 60_000 });
  const remove = () => {
    accounts.close();
    database.close();
    rmSync(folder, { recursive: true });
  };
  return { folder, database, accounts, remove };
}

/** The routes for programs, with the errors of the real server. */
export function accountsApp(accounts: Accounts): FastifyInstance {
  const app = Fastify();
  app.setErrorHandler(errorHandler({ onServerError: (error) => console.error(error), optionNames: {} }));
  const authorize = authorizer({ ring: accounts.ring, localToken: LOCAL_TOKEN });
  accountsRoutes(app, { accounts, authorize, publicUrl: () => PUBLIC_URL });
  return app;
}
