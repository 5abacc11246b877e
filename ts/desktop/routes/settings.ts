/** Settings, and the table of load options. */
import { LOAD_OPTIONS } from '../../options/load-option-table.js';
import { isNullable, type OptionRow } from '../../options/option-row.js';
import type { OptionForm } from '../api-types.js';
import { optionList, settings, settingsChange } from '../schemas/settings.js';
import type { DesktopApp, DesktopRoutes } from './context.js';

export function settingsRoutes(app: DesktopRoutes, desktop: DesktopApp): void {
  const get = { schema: { summary: 'Read the settings', response: { 200: settings } } };
  app.get('/api/v1/settings', get, async () => desktop.settings.current);

  const put = { schema: { summary: 'Update the settings', body: settingsChange, response: { 200: settings } } };
  app.put('/api/v1/settings', put, async ({ body }) => {
    await desktop.applySettings(body);
    return desktop.settings.current;
  });
}

export function optionsRoute(app: DesktopRoutes): void {
  const options = Object.entries(LOAD_OPTIONS).map(([name, row]) => toForm(name, row));
  const schema = { summary: 'List the load options', response: { 200: optionList } };
  app.get('/api/v1/options', { schema }, async () => ({ options }));
}

function toForm(name: string, row: OptionRow): OptionForm {
  const number = row.type === 'integer' || row.type === 'number' ? row : null;
  return {
    name,
    flag: row.flag,
    type: row.type,
    default: 'default' in row ? row.default : null,
    minimum: number?.min ?? null,
    maximum: number?.max ?? null,
    unit: number?.unit ?? null,
    choices: row.type === 'choice' ? [...row.choices] : number?.words ? [...number.words] : null,
    nullable: isNullable(row),
    help: row.help,
    otherwise: row.otherwise ?? null,
    group: row.group,
  };
}
