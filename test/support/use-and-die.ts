/** A program for tests of usage: counts requests, tells of them, and is killed. */
import { writeSync } from 'node:fs';
import path from 'node:path';
import { openAccounts } from '../../ts/cloud/accounts/accounts.js';
import { openDatabase } from '../../ts/cloud/store/database.js';

const [home = '', flushMs = ''] = process.argv.slice(2);
const { usage } = openAccounts({
  database: openDatabase(path.join(home, 'cloud')),
  home,
  flushMs: Number(flushMs),
  onError: (error) => console.error(error),
});
let requests = 0;
setInterval(() => {
  usage.add({
    keyId: 'k',
    org: 'acme',
    app: 'chat',
    at: Date.now(),
    promptTokens: 10,
    completionTokens: 1,
    cachedTokens: 5,
    status: 200,
    ms: 1,
  });
  requests++;
  writeSync(1, `${Date.now()} ${requests}\n`);
}, 5);
