/** What the routes of the management API are made of. */
import type { Settings } from '../api-types.js';
import type { DeveloperServer } from '../developer-server.js';
import type { EventBus } from '../event-bus.js';
import type { Instances } from '../instances.js';

export interface DesktopApp {
  events: EventBus;
  instances: Instances;
  server: DeveloperServer;
  settings: { readonly current: Settings };
  /** Drains and ends the process. */
  quit(): void;
}
