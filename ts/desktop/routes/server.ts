/** The server of the Developer view, and the state of the app. */
import path from 'node:path';
import { exactly, objectOf } from '../../http/schema/json-schema.js';
import { VERSION } from '../../version.js';
import type { ServerState } from '../api-types.js';
import { appState, openingCode, serverStart, serverState } from '../schemas/server.js';
import type { DesktopApp, DesktopRoutes } from './context.js';

export function serverRoutes(app: DesktopRoutes, desktop: DesktopApp): void {
  const { server, instances, models, settings, hub, machine } = desktop;
  const state = { schema: { summary: 'State for the first paint', response: { 200: appState } } };
  app.get('/api/v1/state', state, async () => {
    return {
      version: VERSION,
      update: desktop.update.found,
      server: server.state,
      machine: machine.shown,
      models: instances.list(),
      downloads: hub.downloads.list(),
      settings: settings.current,
    };
  });

  const start = { schema: { summary: 'Start Server', body: serverStart, response: { 200: serverState } } };
  app.post('/api/v1/server/start', start, async ({ body }) => {
    if (path.isAbsolute(body.model) && /\.gguf$/i.test(body.model)) await models.name(body.model);
    return server.start(body.model, body.port ?? settings.current.port, body.config);
  });

  const stop = { schema: { summary: 'Stop Server', response: { 200: serverState } } };
  app.post('/api/v1/server/stop', stop, (): Promise<ServerState> => server.stop());

  const code = {
    schema: { summary: 'Create a single-use code for /?code=, valid for a minute', response: { 200: openingCode } },
  };
  app.post('/api/v1/opening-code', code, async () => ({ code: desktop.codes.make() }));

  const quit = {
    schema: { summary: 'Quit the app', response: { 202: objectOf({ quitting: exactly(true) }) } },
  };
  app.post('/api/v1/quit', quit, async (_request, reply) => {
    reply.raw.once('close', desktop.quit);
    return reply.code(202).send({ quitting: true });
  });
}
