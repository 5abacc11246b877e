// MCP servers of the app that never reply.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { DesktopMcp } from '../../../ts/desktop/mcp/desktop-mcp.js';
import { isRunning } from '../../support/mcp-servers.js';
import { desktopFolder, removeFolder } from '../../support/start-desktop.js';
import { until } from '../../support/until.js';

test('a stopped completion does not wait for a server that hangs, and its program ends with the app', async () => {
  const folder = desktopFolder();
  const log = path.join(folder, 'pid');
  const script = `require('fs').writeFileSync(${JSON.stringify(log)}, String(process.pid)); setInterval(() => {}, 1e6)`;
  const mcpServers = { hangs: { command: process.execPath, args: ['-e', script] } };
  writeFileSync(path.join(folder, 'mcp.json'), JSON.stringify({ mcpServers }));
  const mcp = new DesktopMcp({ folder, environment: process.env, allowed: () => [], onChange: () => undefined });
  try {
    const { servers } = await mcp.list();
    assert.equal(servers, [{ label: 'hangs', state: 'starting', error: null, restarts: 0, tools: [] }]);
    await until(() => existsSync(log) && readFileSync(log, 'utf8') !== '', 'the program');
    assert.equal(
      await mcp.definitions({ settings: { tools: { 'other\nread': 'ask' } } }, new AbortController().signal),
      [],
    );
    assert.equal(await mcp.definitions({ settings: { tools: { 'hangs\nread': 'ask' } } }, AbortSignal.abort()), []);
  } finally {
    await mcp.close();
  }
  assert.not.ok(isRunning(Number(readFileSync(log, 'utf8'))));
  removeFolder(folder);
});

test.run();
