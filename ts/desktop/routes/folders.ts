/** Folders of chats. `GET /api/v1/chats` lists them too. */
import { folderChange, folderList, folderParams, newFolder } from '../schemas/chats.js';
import type { DesktopApp, DesktopRoutes } from './context.js';

export function foldersRoutes(app: DesktopRoutes, { chats: { folders }, events }: DesktopApp): void {
  const response = { 200: folderList };
  const changed = () => {
    events.publish('folders', {});
    return { folders: folders.list() };
  };

  const add = { summary: 'Create a folder of chats', body: newFolder, response };
  app.post('/api/v1/folders', { schema: add }, async ({ body: { name } }) => {
    folders.add(name);
    return changed();
  });

  const change = {
    summary: 'Rename, open or close a folder of chats',
    params: folderParams,
    body: folderChange,
    response,
  };
  app.put('/api/v1/folders/:name', { schema: change }, async ({ params: { name }, body }) => {
    folders.change(name, body);
    return changed();
  });

  const remove = { summary: 'Remove a folder; its chats stay', params: folderParams, response };
  app.delete('/api/v1/folders/:name', { schema: remove }, async ({ params: { name } }) => {
    folders.remove(name);
    return changed();
  });
}
