/** The differences between hosting modes. Data only: all modes share the same app, routes and schemas. */
import type { SamplingSettings } from '../options/sampling-table.js';

export interface Profile {
  mode: 'runtime' | 'desktop' | 'serverless';
  /** Default address to listen on. */
  host: string;
  port: number;
  /** The part of all paths before `/v1`; organisation and app are given when the server starts. */
  basePath: '' | '/<org_id>/<app_id>';
  /**
   * The scheme of API keys: `Authorization: Key <API_KEY>` unless the deployment is public, or the optional
   * `Authorization: Bearer <API_KEY>` of a local server.
   */
  authentication: 'none' | 'key' | 'bearer';
  /** Whether a request must name the model that is served; if not, any name is accepted. */
  checksModelName: boolean;
  /** Whether a body with another type than `application/json` is refused; `read-body.ts` has the exceptions. */
  demandsJsonContentType: boolean;
  /** Chat fields that only other modes have: ignored and named in a header, or refused in strict mode. */
  unsupportedParameters: readonly string[];
  /** Defaults for absent request fields. */
  sampling: Readonly<SamplingSettings>;
  /** Maximum number of completion tokens of requests without a limit. Default: the rest of the context. */
  maxTokens?: number;
  /**
   * The highest priority that a request may set. Lower ones are always allowed.
   */
  maxPriority: number;
  /** The largest body, in bytes. */
  bodyLimit: number;
  /** Allowed CORS origins; `local`: pages of this machine. */
  corsOrigins: readonly string[];
  /**
   * Whether the Host header must be a known name of this server. The name of a foreign page may resolve to 127.0.0.1
   * (DNS rebinding); the page would then have the same origin as a server that accepts any name.
   */
  checksHostHeader: boolean;
  /** Whether it also has the endpoints of other local model servers. */
  hasLocalEndpoints: boolean;
  /** Whether images may be fetched from servers of this machine. */
  allowsLoopbackImageHosts: boolean;
}
