/** Options of the application, and the context of its endpoints. */
import { createHttpContext, type HttpContext, type HttpOptions } from '../http/context.js';
import type { McpServers } from '../mcp/mcp-servers.js';
import type { ModelPool } from '../models/pool.js';
import type { Profile } from '../profiles/profile.js';
import { MemoryStore } from './openai/responses/store/memory-store.js';
import type { ResponseStore } from './openai/responses/store/response-store.js';
import { ClientDownloads } from './shared/client-downloads.js';
import type { ModelLibrary } from './shared/model-library.js';
import { RunningChats } from './shared/running-chats.js';

export interface AppOptions extends HttpOptions {
  /** Stores the responses of `/v1/responses`; null disables storage. Default: in memory. */
  responses?: ResponseStore | null;
  /** Lets clients download and delete models; default: not allowed. */
  library?: ModelLibrary;
  /**
   * Whether only a gateway can reach the server. The gateway names the owner of each request (`owner-header.ts`) and counts
   * running requests, so background work is refused. Default false.
   */
  isBehindGateway?: boolean;
  /** Whether replies to chats have the prompt and the generation settings as `__verbose`, as in llama-server. Default false. */
  verbose?: boolean;
  /** Whether `GET /slots` replies. Default true. */
  slots?: boolean;
  /** MCP servers, which provide tools to requests; default none. */
  mcp?: McpServers | null;
}

export interface AppContext extends HttpContext {
  responses: ResponseStore | null;
  library: ModelLibrary | undefined;
  /** `null` without a library. */
  downloads: ClientDownloads | null;
  isBehindGateway: boolean;
  verbose: boolean;
  slots: boolean;
  mcp: McpServers | null;
  chats: RunningChats;
}

/** Throws `invalid_options` if the mode needs a deployment and none is given. */
export function createContext(
  pool: ModelPool,
  profile: Profile,
  options: AppOptions & Required<Pick<AppOptions, 'onServerError'>>,
): AppContext {
  return {
    ...createHttpContext(pool, profile, options),
    responses: options.responses === undefined ? new MemoryStore() : options.responses,
    library: options.library,
    downloads: options.library === undefined ? null : new ClientDownloads(options.library),
    isBehindGateway: options.isBehindGateway ?? false,
    verbose: options.verbose ?? false,
    slots: options.slots ?? true,
    mcp: options.mcp ?? null,
    chats: new RunningChats(),
  };
}
