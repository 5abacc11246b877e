/** A change of the settings: what follows from it, besides being kept. */
import { completeLoadOptions } from '../engine/load-options.js';
import { checkEndpoint, checkToken, type HubSettings } from '../hub/hub-settings.js';
import type { Settings, SettingsChange } from './api-types.js';
import { isLoginStart, type LoginStart, setLoginStart } from './login-start.js';
import type { DesktopApp } from './routes/context.js';

type Parts = Pick<DesktopApp, 'settings' | 'events' | 'hub' | 'instances' | 'models' | 'server'>;

interface Surroundings {
  login: LoginStart;
  /** The hub as the environment says it, but for what is given. */
  hub(given: Partial<HubSettings>): HubSettings;
}

/** Nothing is changed where a part of it cannot be. */
export async function applySettings(
  { settings, events, hub, instances, models, server }: Parts,
  { login, hub: hubOf }: Surroundings,
  change: SettingsChange,
): Promise<void> {
  for (const options of Object.values(change.modelDefaults ?? {})) completeLoadOptions(options);
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

/** Sets the start at login and does the rest; where that throws, the start at login is what it was. */
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

/** A token is for the hub that is asked from the same change on. */
function endpointAfter({ hubEndpoint }: SettingsChange, before: Settings, hubOf: Surroundings['hub']): string {
  const chosen = hubEndpoint === undefined ? before.hubEndpoint : hubEndpoint;
  return hubOf(chosen === null ? {} : { endpoint: chosen }).endpoint;
}
