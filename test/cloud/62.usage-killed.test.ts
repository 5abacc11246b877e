// Usage counts survive any end of the process.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openAccounts } from '../../ts/cloud/accounts/accounts.js';
import { openDatabase } from '../../ts/cloud/store/database.js';
import { startChild } from '../support/child.js';
import { until } from '../support/until.js';

const test = suite<{ home: string }>('cloud: usage outlasts the process');

test.before.each((context) => {
  context.home = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-usage-'));
});

test.after.each(({ home }) => fs.rmSync(home, { recursive: true }));

/** The sum of what the database has. */
function counted(home: string): { requests: number; promptTokens: number } {
  const database = openDatabase(path.join(home, 'cloud'));
  const accounts = openAccounts({ database, home });
  const now = Date.now() / 1000;
  const rows = accounts.usage.list({ from: now - 86_400, to: now + 86_400, hours: 24 });
  accounts.close();
  database.close();
  return {
    requests: rows.reduce((sum, row) => sum + row.requests, 0),
    promptTokens: rows.reduce((sum, row) => sum + row.promptTokens, 0),
  };
}

test('a process that is killed loses what it has counted since it wrote last, and nothing else', async ({ home }) => {
  const child = startChild('test/support/use-and-die.ts', [home, '500']);
  const told = () => child.output.stdout.split('\n').filter((line) => line.includes(' '));
  // Two rounds of writing are over once the database has more than it had after the first.
  await until(async () => told().length > 10 && counted(home).requests > 0, 'it has written once');
  const first = counted(home).requests;
  await until(async () => counted(home).requests > first, 'it has written twice');
  const certain = counted(home).requests;
  child.process.kill('SIGKILL');
  await child.exited;
  const all = told().length;
  const { requests, promptTokens } = counted(home);
  assert.ok(requests >= certain && requests <= all, `${certain} <= ${requests} <= ${all}`);
  assert.is(promptTokens, requests * 10);
  assert.is(child.output.stderr, '');
});

test('one that closes loses nothing', async ({ home }) => {
  const database = openDatabase(path.join(home, 'cloud'));
  const accounts = openAccounts({ database, home });
  const { id, key } = accounts.keys.create();
  accounts.ring.check(key);
  for (let i = 0; i < 5; i++) {
    accounts.usage.add({
      ...{
        keyId: id,
        org: 'acme',
        app: 'chat',
        at: Date.now(),
        promptTokens: 10,
        completionTokens: 1,
        cachedTokens: 5,
      },
      status: 200,
      ms: 1,
    });
  }
  accounts.close();
  database.close();
  assert.equal(counted(home), { requests: 5, promptTokens: 50 });
});

test.run();
