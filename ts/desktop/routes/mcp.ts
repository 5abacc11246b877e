/** MCP servers, and calls of their tools in chats. */
import { limited, objectOf, string } from '../../http/schema/json-schema.js';
import { keyPrefix } from '../mcp/desktop-mcp.js';
import { mcpCall, mcpList, mcpParams, mcpResult, mcpSave, mcpSwitch, mcpText } from '../schemas/mcp.js';
import type { DesktopApp, DesktopRoutes } from './context.js';
import { untilGone } from './until-gone.js';

const chatParams = objectOf({ id: limited(string, { maxLength: 64 }) });

export function mcpRoutes(app: DesktopRoutes, desktop: DesktopApp): void {
  const { mcp, chats, settings } = desktop;
  const response = { 200: mcpList };

  /** A changed server may be another program, which the user has not allowed. */
  const forbid = async (label: string): Promise<void> => {
    const { allowedTools } = settings.current;
    const left = allowedTools.filter((key) => !key.startsWith(keyPrefix(label)));
    if (left.length < allowedTools.length) await desktop.applySettings({ allowedTools: left });
  };

  app.get('/api/v1/mcp', { schema: { summary: 'List the MCP servers', response } }, () => mcp.list());

  const save = { summary: 'Add MCP servers, or replace one', body: mcpSave, response };
  app.post('/api/v1/mcp', { schema: save }, async ({ body: { text, replaces } }) => {
    if (replaces !== null) await forbid(replaces);
    await mcp.save(text, replaces);
    return mcp.list();
  });

  const read = { summary: 'Read the definition of an MCP server', params: mcpParams, response: { 200: mcpText } };
  app.get('/api/v1/mcp/:label', { schema: read }, async ({ params: { label } }) => ({ text: mcp.text(label) }));

  const change = { summary: 'Switch an MCP server on or off', params: mcpParams, body: mcpSwitch, response };
  app.put('/api/v1/mcp/:label', { schema: change }, async ({ params: { label }, body }) => {
    await mcp.enable(label, body.enabled);
    return mcp.list();
  });

  const remove = { summary: 'Remove an MCP server', params: mcpParams, response };
  app.delete('/api/v1/mcp/:label', { schema: remove }, async ({ params: { label } }) => {
    await forbid(label);
    await mcp.remove(label);
    return mcp.list();
  });

  const call = {
    summary: 'Run a call of a tool that the user has allowed',
    params: chatParams,
    body: mcpCall,
    response: { 200: mcpResult },
  };
  app.post('/api/v1/chats/:id/calls', { schema: call }, ({ params: { id }, body }, reply) =>
    mcp.call(chats.read(id), body, untilGone(reply)),
  );
}
