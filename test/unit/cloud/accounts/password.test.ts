import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkPassword, Passwords, TooManyPasswords } from '../../../../ts/cloud/accounts/password.js';
import { ChasquiError } from '../../../../ts/errors.js';

const RIGHT = 'a relay of runners';

test('a password is stored with a salt and what it cost, and only it matches', async () => {
  const passwords = new Passwords();
  const [one, other] = await Promise.all([passwords.hash(RIGHT), passwords.hash(RIGHT)]);
  assert.match(one, /^scrypt\$17\$8\$1\$[\w-]{22}\$[\w-]{43}$/);
  assert.is.not(one, other);
  assert.not.match(one, 'relay');
  assert.is(await passwords.matches(RIGHT, one), true);
  assert.is(await passwords.matches(`${RIGHT} `, one), false);
  assert.is(await passwords.matches(RIGHT, null), false);
});

test('what was stored at another cost still matches, and letters typed otherwise are the same letters', async () => {
  const { scryptSync } = await import('node:crypto');
  const salt = Buffer.alloc(16, 7);
  const hash = scryptSync('caf\u00e9 con leche', salt, 32, { N: 2 ** 10, r: 8, p: 1 });
  const stored = `scrypt$10$8$1$${salt.toString('base64url')}$${hash.toString('base64url')}`;
  const passwords = new Passwords();
  assert.is(await passwords.matches('cafe\u0301 con leche', stored), true);
  assert.is(await passwords.matches('cafe con leche', stored), false);
});

test('short and endless passwords are refused', () => {
  for (const wrong of ['', 'eleven char', '🏃'.repeat(11), 'x'.repeat(1025)]) {
    assert.throws(
      () => checkPassword(wrong),
      (error: ChasquiError) => error instanceof ChasquiError && error.param === 'password',
    );
  }
  checkPassword('twelve chars');
});

test('few wait, and those after them are sent away at once', async () => {
  const passwords = new Passwords();
  const cheap = `scrypt$4$8$1$${Buffer.alloc(16).toString('base64url')}$${Buffer.alloc(32).toString('base64url')}`;
  const tries = await Promise.allSettled(Array.from({ length: 40 }, () => passwords.matches(RIGHT, cheap)));
  const refused = tries.filter((each) => each.status === 'rejected' && each.reason instanceof TooManyPasswords);
  assert.is(refused.length, 24);
  assert.is(await passwords.matches(RIGHT, cheap), false);
});

test.run();
