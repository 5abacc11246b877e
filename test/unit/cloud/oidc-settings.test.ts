import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { oidcSettings } from '../../../ts/cli/cloud/oidc-settings.js';

const test = suite('unit: settings of OpenID Connect');
const GIVEN = { oidcIssuer: 'https://accounts.example', oidcClientId: 'chasqui' };

test('the secret comes from a file or a variable, and the domains are in lower case', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-oidc-'));
  const file = path.join(folder, 'secret');
  writeFileSync(file, ' from-the-file\n');
  const read = (more: object, secret?: string) =>
    oidcSettings({ ...GIVEN, ...more }, { CHASQUI_OIDC_SECRET: secret })?.clientSecret;
  assert.equal([read({}), read({}, ''), read({}, 'from-the-variable')], [null, null, 'from-the-variable']);
  assert.is(read({ oidcSecretFile: file }, 'from-the-variable'), 'from-the-file');
  for (const content of ['', '\n', 'two\nlines', 'x'.repeat(5000)]) {
    writeFileSync(file, content);
    assert.throws(() => read({ oidcSecretFile: file }), /`oidcSecretFile`: .* must have one line/);
  }
  rmSync(folder, { recursive: true });
  assert.throws(() => read({ oidcSecretFile: file }), /`oidcSecretFile`: ENOENT/);
  assert.equal(oidcSettings({ ...GIVEN, oidcDomain: ['Acme.Example'] }, {})?.domains, ['acme.example']);
});

test('incomplete options and issuers without TLS are refused', () => {
  assert.is(oidcSettings({}, { CHASQUI_OIDC_SECRET: 'x' }), undefined);
  const { oidcIssuer, oidcClientId } = GIVEN;
  for (const options of [{ oidcIssuer }, { oidcClientId }, { oidcSecretFile: 'x' }, { oidcDomain: ['a.example'] }]) {
    assert.throws(() => oidcSettings(options, {}), /`oidcIssuer` and `oidcClientId` are given together/);
  }
  for (const issuer of ['http://accounts.example', 'accounts.example', 'file:///etc/passwd', '', 'https://']) {
    assert.throws(() => oidcSettings({ ...GIVEN, oidcIssuer: issuer }, {}), /must be an https address/);
  }
  assert.ok(oidcSettings({ ...GIVEN, oidcIssuer: 'http://localhost:8080/realm' }, {}));
});

test.run();
