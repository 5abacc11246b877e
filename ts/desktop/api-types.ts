/** Types of the management API, for pages and commands. */
export type {
  Chat,
  ChatChange,
  ChatFile,
  ChatMessage,
  ChatMessages,
  ChatStats,
  CompletionBody,
  CompletionEnd,
  CompletionError,
  CompletionEvent,
  DocumentBody,
  ListedChat,
} from './schemas/chats.js';
export type { DownloadBody, DownloadJob, DownloadReply, DownloadStatus } from './schemas/downloads.js';
export type { ExactFit, Fit, FitQuery, HubModelPage, HubSearchPage, HubSearchQuery } from './schemas/hub.js';
export type {
  ImportBody,
  InstanceBody,
  ListedModel,
  LoadBody,
  LoadConfig,
  LoadedModel,
  LoadReply,
  LocalModelShown,
  ModelBody,
  ModelList,
} from './schemas/models.js';
export type { LogLine, MetricsPoint, RequestRow } from './schemas/requests.js';
export type { AppState, Machine, OpeningCode, ServerStart, ServerState } from './schemas/server.js';
export type { OptionForm, Preset, Settings, SettingsChange } from './schemas/settings.js';

import type { DownloadJob } from './schemas/downloads.js';
import type { LoadedModel } from './schemas/models.js';
import type { LogLine, MetricsPoint, RequestRow } from './schemas/requests.js';
import type { ServerState } from './schemas/server.js';
import type { Settings } from './schemas/settings.js';

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
  /** A chat changed, or a completion began or ended. `updatedAt` is `null` if it was deleted. */
  chat: { id: string; updatedAt: number | null; running: string | null };
}
