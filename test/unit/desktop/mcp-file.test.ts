// mcp.json of the app: fields that it keeps, and secrets that it hides from pages.
import fs from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { McpFile } from '../../../ts/desktop/mcp/mcp-file.js';
import { desktopFolder, removeFolder } from '../../support/start-desktop.js';

const test = suite<{ folder: string; file: McpFile }>('desktop: the file of MCP servers');

test.before.each((context) => {
  context.folder = desktopFolder();
  context.file = new McpFile(context.folder);
});
test.after.each(({ folder }) => removeFolder(folder));

const stored = ({ file }: McpFile) => JSON.parse(fs.readFileSync(file, 'utf8'));
const web = { url: 'http://127.0.0.1:1/mcp', headers: { Authorization: 'Bearer x' } };

test('a server keeps its place, its secrets and unknown fields; others are untouched', ({ file }) => {
  fs.writeFileSync(file.file, JSON.stringify({ theme: 1, mcpServers: { a: { command: 'x', note: 2 }, web, z: 7 } }));
  assert.equal(JSON.parse(file.text('web')).web.headers, { Authorization: '<stored>' });
  file.save(
    '{"mcpServers": {"site": {"url": "http://127.0.0.1:2/mcp", "headers": {"Authorization": "<stored>"}}}}',
    'web',
  );
  file.enable('a', false);
  assert.equal(stored(file), {
    theme: 1,
    mcpServers: {
      a: { command: 'x', note: 2, disabled: true },
      site: { ...web, url: 'http://127.0.0.1:2/mcp' },
      z: 7,
    },
  });
  file.enable('a', true);
  file.remove('z');
  assert.equal(Object.keys(stored(file).mcpServers), ['a', 'site']);
  assert.not.ok('disabled' in stored(file).mcpServers.a);
});

test('secrets of one server are not those of another, and odd ones are hidden too', ({ file }) => {
  file.save(JSON.stringify({ web }), null);
  const other = '{"b": {"command": "x", "env": {"Authorization": "<stored>"}}}';
  assert.throws(() => file.save(other, null), /`env\.Authorization` has no stored value/);
  assert.throws(() => file.save(other, 'web'), /`env\.Authorization` has no stored value/);
  fs.writeFileSync(file.file, '{"mcpServers": {"odd": {"command": "x", "env": "KEY=secret"}}}');
  assert.not.match(file.text('odd'), /secret/);
});

test('names of properties of every object are names like others', ({ file }) => {
  file.save('{"mcpServers": {"__proto__": {"command": "x"}, "constructor": {"command": "y"}}}', null);
  assert.equal([...file.servers.keys()], ['__proto__', 'constructor']);
  assert.throws(() => file.text('toString'), /no MCP server named/);
});

test('a link is kept, and no draft is left', ({ file, folder }) => {
  if (process.platform === 'win32') return;
  const target = path.join(folder, 'elsewhere.json');
  fs.writeFileSync(target, '{}');
  fs.symlinkSync(target, file.file);
  file.save(JSON.stringify({ web }), null);
  assert.ok(fs.lstatSync(file.file).isSymbolicLink());
  assert.equal(JSON.parse(fs.readFileSync(target, 'utf8')).mcpServers, { web });
  assert.equal(fs.readdirSync(folder).sort(), ['elsewhere.json', 'mcp.json']);
});

test.run();
