/** The OpenAPI documents of all modes, as servers give them. */
import type { OpenApiDocument } from '../../ts/http/openapi/document.js';
import { testApp } from '../support/build-app.js';
import { TestMcp } from '../support/mcp-servers.js';
import { DEPLOYMENT, type Mode, PROFILES } from '../support/modes.js';
import { removeFolder, startDesktop } from '../support/start-desktop.js';

export async function documentOf(mode: Mode): Promise<OpenApiDocument> {
  const deployed = mode === 'serverless' ? { deployment: DEPLOYMENT, access: 'public' as const } : {};
  const { app } = testApp({}, deployed, PROFILES[mode]);
  const base = mode === 'serverless' ? `/${DEPLOYMENT.org}/${DEPLOYMENT.app}` : '';
  return (await app.inject(`${base}/openapi.json`)).json();
}

/** That of the server which the desktop app starts: its clients may download models, too. */
export async function documentOfDesktopServer(): Promise<OpenApiDocument> {
  const nothing = async () => undefined;
  const { app } = testApp({}, { library: { pull: nothing, remove: nothing } }, PROFILES.desktop);
  return (await app.inject('/openapi.json')).json();
}

/** That of a server with MCP servers. */
export async function documentOfMcp(): Promise<OpenApiDocument> {
  const mcp = new TestMcp();
  try {
    const { app } = testApp({}, { mcp: mcp.servers() });
    return (await app.inject('/openapi.json')).json();
  } finally {
    await mcp.close();
  }
}

/** That of the management API at the desktop app's own port. */
export async function documentOfDesktopApp(): Promise<OpenApiDocument> {
  const app = await startDesktop();
  try {
    return await app.done('GET', '/api/v1/openapi.json');
  } finally {
    await app.stop();
    removeFolder(app.folder);
  }
}

/** The endpoints that a document describes, as `POST /v1/chat/completions`. */
export function endpointsOf({ paths }: OpenApiDocument): string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
}
