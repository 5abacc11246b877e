/** Applies a change of the settings. */
import { completeLoadOptions } from '../engine/load-options.js';
import { invalidValue } from '../errors.js';
import { checkEndpoint, checkToken, type HubSettings } from '../hub/hub-settings.js';
import type { Settings, SettingsChange } from './api-types.js';
import { isLoginStart, type LoginStart, setLoginStart } from './login-start.js';
import type { DesktopApp } from './routes/context.js';

type Parts = Pick<DesktopApp, 'settings' | 'events' | 'hub' | 'instances' | 'models' | 'server'>;

interface Surroundings {
  login: LoginStart;
  /** Hub settings from the environment, overridden by `given`. */
  hub(given: Partial<HubSettings>): HubSettings;
}

/** All or nothing: validates everything before the first change. */
export async function applySettings(
  { settings, events, hub, instances, models, server }: Parts,
  { login, hub: hubOf }: Surroundings,
  change: SettingsChange,
): Promise<void> {
  for (const options of Object.values(change.modelDefaults ?? {})) completeLoadOptions(options);
  checkNames(change.presets ?? []);
  if (change.hubEndpoint) checkEndpoint(change.hubEndpoint);
  if (change.hubToken) checkToken(change.hubToken);
  const before = settings.current;
  const kept = { ...change, ...(change.hubToken && { hubTokenEndpoint: endpointAfter(change, before, hubOf) }) };
  const { hubToken: tokenBefore } = settings;
  const { startAtLogin = before.startAtLogin } = change;
  if (startAtLogin === before.startAtLogin) settings.change(kept);
  else withLoginStart(login, startAtLogin, () => settings.change(kept));
  server.expectPort(settings.current.port);
  if (settings.hubToken !== tokenBefore || settings.current.hubEndpoint !== before.hubEndpoint) await hub.reopen();
  await models.refresh();
  const concernsLoads = (['modelDefaults', 'modelKeeps', 'ttl'] as const).some((name) => change[name] !== undefined);
  if (concernsLoads) instances.settingsChanged();
  events.publish('settings', settings.current);
}

/** Names identify presets. @throws {ChasquiError} `invalid_value` */
function checkNames(presets: Settings['presets']): void {
  const names = presets.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw invalidValue(`Two presets are named \`${twice}\`.`, 'presets');
}

/** Sets the start at login, then calls `rest`; undoes the former if the latter throws. */
function withLoginStart(login: LoginStart, isOn: boolean, rest: () => void): void {
  const wasOn = isLoginStart(login);
  setLoginStart(login, isOn);
  try {
    rest();
  } catch (error) {
    try {
      setLoginStart(login, wasOn);
    } catch {}
    throw error;
  }
}

/** Stores the hub that a new token belongs to. */
function endpointAfter({ hubEndpoint }: SettingsChange, before: Settings, hubOf: Surroundings['hub']): string {
  const chosen = hubEndpoint === undefined ? before.hubEndpoint : hubEndpoint;
  return hubOf(chosen === null ? {} : { endpoint: chosen }).endpoint;
}
