import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify';
import type { Static } from '../../http/schema/json-schema.js';
import type { SpeedBook } from '../advice.js';
import type { SettingsChange } from '../api-types.js';
import type { ChatCompletions } from '../chat-completions.js';
import type { DesktopLog } from '../desktop-log.js';
import type { DeveloperServer } from '../developer-server.js';
import type { EventBus } from '../event-bus.js';
import type { ExactFits } from '../exact-fits.js';
import type { Hub } from '../hub.js';
import type { Instances } from '../instances.js';
import type { LocalModels } from '../local-models.js';
import type { MachineWatch } from '../machine.js';
import type { DesktopMcp } from '../mcp/desktop-mcp.js';
import type { OpeningCodes } from '../opening-codes.js';
import type { RequestTable } from '../request-table.js';
import type { Sharing } from '../sharing/sharing.js';
import type { ChatStore } from '../store/chats.js';
import type { MetricsHistory } from '../store/metrics-history.js';
import type { SettingsStore } from '../store/settings.js';
import type { UpdateNotice } from '../update-notice.js';

/** Handlers get the types of bodies, parameters, queries and replies from the schemas of their route. */
export interface SchemaTypes extends FastifyTypeProvider {
  validator: Static<this['schema']>;
  serializer: Static<this['schema']>;
}

export type DesktopRoutes = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  SchemaTypes
>;

export interface DesktopApp {
  events: EventBus;
  instances: Instances;
  server: DeveloperServer;
  sharing: Sharing;
  settings: SettingsStore;
  requests: RequestTable;
  metrics: MetricsHistory;
  log: DesktopLog;
  chats: ChatStore;
  completions: ChatCompletions;
  hub: Hub;
  models: LocalModels;
  machine: MachineWatch;
  fits: ExactFits;
  speeds: SpeedBook;
  mcp: DesktopMcp;
  codes: OpeningCodes;
  update: UpdateNotice;
  /** Saves and applies a change. */
  applySettings(change: SettingsChange): Promise<void>;
  /** Drains and ends the process. */
  quit(): void;
}
