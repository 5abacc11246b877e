import fs from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type CatalogueRow, ChasquiError, ERRORS, type ErrorCode } from '../../ts/errors.js';
import { toErrorBody } from '../../ts/http/error-handler.js';

const test = suite('unit: the error catalogue');
const rows = Object.entries(ERRORS) as [ErrorCode, CatalogueRow][];

test('every row is complete', () => {
  for (const [code, { status, type, meaning }] of rows) {
    assert.match(code, /^[a-z]+(_[a-z]+)+$/);
    assert.ok(status >= 400 && status < 600, code);
    assert.match(meaning, /^[A-Z].*\.$/, code);
    assert.is(type === 'server_error', status >= 500, `${code}: a server_error is a 5xx, and nothing else is`);
    assert.is(type === 'not_found_error', status === 404, `${code}: a not_found_error is a 404, and nothing else is`);
  }
});

test('every row is used', () => {
  const sources = [...sourcesUnder('ts'), ...sourcesUnder('native')].filter((file) => !file.endsWith('ts/errors.ts'));
  const text = sources.map((file) => fs.readFileSync(file, 'utf8')).join('\n');
  const unused = rows.map(([code]) => code).filter((code) => !new RegExp(`['"\`]${code}['"\`]`).test(text));
  assert.equal(unused, []);
});

test('the body is OpenAI’s envelope', () => {
  assert.equal(toErrorBody(new ChasquiError('invalid_value', 'Wrong.', 'top_p')), {
    error: { message: 'Wrong.', type: 'invalid_request_error', param: 'top_p', code: 'invalid_value' },
  });
});

test('a code that implies the field names it, unless whoever throws knows better', () => {
  assert.is(toErrorBody(new ChasquiError('context_length_exceeded', 'x')).error.param, 'messages');
  assert.is(toErrorBody(new ChasquiError('prompt_refused', 'x')).error.param, 'messages');
  assert.is(toErrorBody(new ChasquiError('template_failed', 'x', 'messages[1]')).error.param, 'messages[1]');
  assert.is(toErrorBody(new ChasquiError('engine_closed', 'x')).error.param, null);
});

test('an option is told by the name that whoever started the server knows', () => {
  const error = new ChasquiError('host_not_allowed', 'Add `x` to `allowedHosts`.', 'host');
  error.option = 'allowedHosts';
  error.retryAfterSeconds = 3;
  const { code, message, param, retryAfterSeconds } = error.withOptionNamed({ allowedHosts: '--allowed-host' });
  assert.equal(
    [code, message, param, retryAfterSeconds],
    ['host_not_allowed', 'Add `x` to `--allowed-host`.', 'host', 3],
  );
  assert.is(error.withOptionNamed({ imageHosts: '--image-hosts' }), error);
  const tooLong = new ChasquiError('context_length_exceeded', 'Load the model with a larger `contextSize`.');
  assert.match(tooLong.withOptionNamed({ contextSize: '--ctx-size' }).message, 'larger `--ctx-size`.');
  const tooMuch = new ChasquiError('context_length_exceeded', 'Load the model with a larger `kvBudgetMiB`.');
  const names = { contextSize: '--ctx-size', kvBudgetMiB: '--kv-budget' };
  assert.match(tooMuch.withOptionNamed(names).message, 'larger `--kv-budget`.');
});

function sourcesUnder(folder: string): string[] {
  const files = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`);
  return files.filter((file) => /\.(ts|h|cpp)$/.test(file));
}

test.run();
