/** Types of the management API, for pages and commands. */
export type * from './schemas/chats.js';
export type * from './schemas/downloads.js';
export type * from './schemas/hub.js';
export type * from './schemas/mcp.js';
export type * from './schemas/models.js';
export type * from './schemas/requests.js';
export type * from './schemas/server.js';
export type * from './schemas/settings.js';
export type * from './sharing/sharing-schema.js';

import type { DownloadJob } from './schemas/downloads.js';
import type { LoadedModel } from './schemas/models.js';
import type { LogLine, MetricsPoint, RequestRow } from './schemas/requests.js';
import type { NewVersion, ServerState } from './schemas/server.js';
import type { Settings } from './schemas/settings.js';
import type { SharingState } from './sharing/sharing-schema.js';

/** Events of `GET /api/v1/events`: names, and the JSON of their data. */
export interface AppEvents {
  server: ServerState;
  models: readonly LoadedModel[];
  download: DownloadJob;
  request: RequestRow;
  metrics: MetricsPoint;
  log: LogLine;
  /** The list of local models changed; request it again. */
  library: Record<string, never>;
  settings: Settings;
  sharing: SharingState;
  update: NewVersion;
  /** An MCP server or its state changed; request the list again. */
  mcp: Record<string, never>;
  /** A folder of chats changed; request the chats again. */
  folders: Record<string, never>;
  /** A chat changed, or a completion began or ended. `updatedAt` is `null` if it was deleted. */
  chat: { id: string; updatedAt: number | null; running: string | null };
}
