/** One deployed app of an organisation, private unless it is made public. */
import type { Profile } from './profile.js';
import { runtime } from './runtime.js';

export const serverless: Profile = {
  mode: 'serverless',

  // Table 1; a host or a gateway in front gives it its public address
  host: '127.0.0.1',
  port: 8080,
  basePath: '/<org_id>/<app_id>',
  authentication: 'key',
  checksModelName: true,

  // Table 2.1 has no column for this mode: it runs the runtime's
  unsupportedParameters: runtime.unsupportedParameters,
  sampling: runtime.sampling,

  // Section 4, rule 1 is for the local modes
  demandsJsonContentType: false,

  // Not in the specification
  maxPriority: 0,
  bodyLimit: 32 * 2 ** 20,
  corsOrigins: [],
  checksHostHeader: false,
  hasLocalEndpoints: false,
  allowsLoopbackImageHosts: false,
};
