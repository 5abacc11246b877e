/** The gateway with one app in front of a runner's socket, for `run.ts`. Prints its port. */
import type net from 'node:net';
import process from 'node:process';
import type { DeployedApp } from '../../ts/cloud/gateway/directory.js';
import { createFrontServer } from '../../ts/cloud/gateway/front-server.js';
import { Gateway } from '../../ts/cloud/gateway/gateway.js';

const [, , socketPath = ''] = process.argv;
const runner = { id: 'r1', socketPath, slots: 1000, reportFailure: (reason: string) => console.error(reason) };
const app: DeployedApp = {
  id: 'app',
  org: 'acme',
  name: 'chat',
  auth: 'private',
  bearer: false,
  revision: 1,
  failure: null,
  progress: null,
  limits: { startMs: 10_000, requestMs: 3_600_000, requests: 1000 },
  runners: () => [runner],
  setDemand: () => undefined,
  onChange: () => () => undefined,
};
const limits = {
  requestsPerMinute: 1_000_000,
  tokensPerMinute: 1_000_000_000,
  concurrency: 1000,
  bodyBytes: 1_000_000,
};
const gateway = new Gateway({
  directory: { find: (org, name) => (org === 'acme' && name === 'chat' ? app : null) },
  keys: { check: (key) => (key === 'k:s' ? { id: 'k', org: 'acme', app: null, scopes: ['call'], limits } : null) },
  usage: { add: () => undefined, progress: () => undefined },
});
const server = createFrontServer({ gateway, own: (_request, response) => response.end() });
server.listen(0, '127.0.0.1', () => console.log((server.address() as net.AddressInfo).port));
