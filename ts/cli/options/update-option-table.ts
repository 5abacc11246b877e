/** Options of commands that report newer versions of this program. */
import { inGroup, on, type UngroupedRows } from '../../options/option-row.js';

export const UPDATE_OPTIONS = inGroup('Updates', {
  updateCheck: {
    ...on,
    help: 'Ask the registry of npm once a day for a newer version; never in CI',
  },
} as const satisfies UngroupedRows);
