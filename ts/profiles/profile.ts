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
   * Whether a request must come with `Authorization: Key <API_KEY>`, unless the deployment is a public one, or with
   * `Authorization: Bearer <API_KEY>`, which a local server may be told to ask for.
   */
  authentication: 'none' | 'key' | 'bearer';
  /** Whether a request must name the model that is served; if not, any name is accepted. */
  checksModelName: boolean;
  /** Whether a body must come as `application/json`; if not, any body is read as JSON. */
  demandsJsonContentType: boolean;
  /** Chat fields that only other modes have: ignored and named in a header, or refused in strict mode. */
  unsupportedParameters: readonly string[];
  /** Defaults for what a request does not say. */
  sampling: Readonly<SamplingSettings>;
  /**
   * The highest priority that a request may give itself, because it goes before others then. Lower ones are allowed.
   */
  maxPriority: number;
  /** The largest body, in bytes. */
  bodyLimit: number;
  /** Allowed CORS origins; `local`: pages of this machine. */
  corsOrigins: readonly string[];
  /**
   * Whether the Host header must be a name that this server goes by. A page can have its own name lead to 127.0.0.1
   * (DNS rebinding), and is then of the same origin as a server that takes any name.
   */
  checksHostHeader: boolean;
  /** Whether it has the endpoints of other programs that serve models on a person's machine, beside OpenAI's. */
  hasLocalEndpoints: boolean;
  /** Whether images may be fetched from servers of this machine. */
  allowsLoopbackImageHosts: boolean;
}
