// The file of --mcp-config: accepted forms, and errors that name the field.
import fs from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../../ts/errors.js';
import { readMcpConfig, readMcpJson } from '../../../ts/mcp/mcp-config.js';
import { TestMcp } from '../../support/mcp-servers.js';

const test = suite<{ mcp: TestMcp }>('mcp: configuration');

test.before.each((context) => {
  context.mcp = new TestMcp();
});
test.after.each(({ mcp }) => mcp.close());

test('servers of both kinds', ({ mcp }) => {
  const files = { command: 'npx', args: ['-y', 'server'], env: { KEY: 'value' }, cwd: 'sub', alwaysAllow: [] };
  const web = { type: 'http', url: 'https://example.com/mcp', headers: { Authorization: 'Bearer x' }, timeout_ms: 5 };
  const off = { command: 7, disabled: true };
  const { servers, ignored } = readMcpConfig(mcp.write({ mcpServers: { files, web, off } }));
  assert.equal(servers, [
    {
      kind: 'stdio',
      label: 'files',
      command: 'npx',
      args: ['-y', 'server'],
      env: { KEY: 'value' },
      cwd: path.join(mcp.folder, 'sub'),
      timeoutMs: 60_000,
    },
    {
      kind: 'http',
      label: 'web',
      url: new URL('https://example.com/mcp'),
      headers: { Authorization: 'Bearer x' },
      timeoutMs: 5,
    },
  ]);
  assert.equal(ignored, ['mcpServers.files.alwaysAllow']);
});

test('JSON text in place of a file', () => {
  const { servers } = readMcpJson('{"mcpServers": {"a": {"command": "x", "cwd": "sub"}}}');
  assert.equal(
    servers.map((each) => each.kind === 'stdio' && each.cwd),
    [path.resolve('sub')],
  );
  for (const [json, says] of [
    ['{', /`mcpServersJson`: the text is not JSON/],
    ['7', /`mcpServersJson`: `the text` must be an object/],
    ['{"mcpServers": {"a": {}}}', /`mcpServersJson`: `mcpServers\.a` must have either/],
  ] as const) {
    assert.throws(
      () => readMcpJson(json),
      (error: ChasquiError) => error.code === 'invalid_options' && says.test(error.message),
    );
  }
});

const server = (fields: object) => ({ mcpServers: { a: fields } });

const INVALID: readonly [name: string, config: unknown, says: RegExp][] = [
  ['not JSON', '{', /is not JSON/],
  ['a list', '[]', /`the file` must be an object/],
  ['no servers', {}, /`mcpServers` must be an object/],
  ['a list of servers', { mcpServers: [] }, /`mcpServers` must be an object/],
  ['a text as server', { mcpServers: { a: 'x' } }, /`mcpServers\.a` must be an object/],
  ['no name', { mcpServers: { '': { command: 'x' } } }, /must have a name of 1 to 64/],
  ['control characters', { mcpServers: { 'a\u001b[2J': { command: 'x' } } }, /must have a name of 1 to 64/],
  ['neither form', server({}), /`mcpServers\.a` must have either `command` or `url`/],
  ['both forms', server({ command: 'x', url: 'http://x' }), /must have either/],
  ['the old transport', server({ type: 'sse', url: 'http://x' }), /`mcpServers\.a\.type` must be "http"/],
  ['an empty command', server({ command: '' }), /`mcpServers\.a\.command` must not be empty/],
  ['a command with NUL', server({ command: 'a\0b' }), /`mcpServers\.a\.command` must be a string without NUL/],
  ['a number as argument', server({ command: 'x', args: ['a', 1] }), /`mcpServers\.a\.args\[1\]` must be a string/],
  ['arguments as text', server({ command: 'x', args: 'a' }), /`mcpServers\.a\.args` must be a list/],
  ['a number as variable', server({ command: 'x', env: { A: 1 } }), /`mcpServers\.a\.env\.A` must be a string/],
  ['a variable with =', server({ command: 'x', env: { 'A=B': '' } }), /`mcpServers\.a\.env` has a name/],
  ['another scheme', server({ url: 'file:///etc/passwd' }), /`mcpServers\.a\.url` must be an http or https URL/],
  ['a password', server({ url: 'http://a:b@x' }), /`mcpServers\.a\.url` must not contain a user/],
  [
    'a line break in a header',
    server({ url: 'http://x', headers: { A: 'a\nb' } }),
    /`mcpServers\.a\.headers\.A` is not/,
  ],
  ['no time', server({ command: 'x', timeout_ms: 0 }), /`mcpServers\.a\.timeout_ms` must be an integer/],
];

for (const [name, config, says] of INVALID) {
  test(`refused: ${name}`, ({ mcp }) => {
    const file = mcp.write(config);
    assert.throws(() => readMcpConfig(file), isInvalid(says));
  });
}

test('refused: files that are missing, large, or have many servers', ({ mcp }) => {
  assert.throws(() => readMcpConfig(path.join(mcp.folder, 'missing')), isInvalid(/cannot be read: ENOENT/));
  assert.throws(() => readMcpConfig(mcp.folder), isInvalid(/cannot be read/));
  const many = Array.from({ length: 65 }, (_, index) => [`s${index}`, { command: 'x' }]);
  const file = mcp.write({ mcpServers: Object.fromEntries(many) });
  assert.throws(() => readMcpConfig(file), isInvalid(/more than 64 servers/));
  fs.truncateSync(file, 2 ** 20 + 1);
  assert.throws(() => readMcpConfig(file), isInvalid(/more than 1048576 bytes/));
});

function isInvalid(says: RegExp) {
  return (error: unknown) =>
    error instanceof ChasquiError && error.code === 'invalid_options' && says.test(error.message);
}

test.run();
