/** The newer version of this program, for pages. */
import type { NewVersion } from './api-types.js';
import type { EventBus } from './event-bus.js';

export interface UpdateNotice {
  found: NewVersion | null;
}

/** Calls `find` once. */
export function lookForUpdate(find: () => Promise<NewVersion | null>, events: EventBus): UpdateNotice {
  const notice: UpdateNotice = { found: null };
  void find().then((found) => {
    notice.found = found;
    if (found !== null) events.publish('update', found);
  });
  return notice;
}
