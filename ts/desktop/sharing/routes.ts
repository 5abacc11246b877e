import type { DesktopApp, DesktopRoutes } from '../routes/context.js';
import { sharingReply, sharingState, sharingSwitch } from './sharing-schema.js';

export function sharingRoutes(app: DesktopRoutes, { sharing }: DesktopApp): void {
  const read = { summary: 'Read whether the server is shared in the local network', response: { 200: sharingState } };
  app.get('/api/v1/sharing', { schema: read }, async () => sharing.state);

  const change = {
    summary: 'Share the server in the local network, or stop that',
    body: sharingSwitch,
    response: { 200: sharingReply },
  };
  app.put('/api/v1/sharing', { schema: change }, ({ body }) => sharing.switch(body.on));

  const renew = { summary: 'Replace the API key for other devices', response: { 200: sharingReply } };
  app.post('/api/v1/sharing/key', { schema: renew }, async () => sharing.renewKey());
}
