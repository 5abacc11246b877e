/** Settings. */
import type { FastifyInstance } from 'fastify';
import type { Settings, SettingsChange } from '../api-types.js';
import { settings, settingsChange } from '../schemas/settings.js';
import type { DesktopApp } from './context.js';

export function settingsRoutes(app: FastifyInstance, desktop: DesktopApp): void {
  const get = { schema: { summary: 'Read the settings', response: { 200: settings } } };
  app.get('/api/v1/settings', get, async (): Promise<Settings> => desktop.settings.current);

  const put = { schema: { summary: 'Update the settings', body: settingsChange, response: { 200: settings } } };
  app.put<{ Body: SettingsChange }>('/api/v1/settings', put, async ({ body }): Promise<Settings> => {
    await desktop.applySettings(body);
    return desktop.settings.current;
  });
}
