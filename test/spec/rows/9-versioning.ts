/** Section 9: versioning. */
import * as assert from 'uvu/assert';
import { readJson } from '../../support/read-json.js';
import { ALL, type Row } from '../row.js';

export const versioningRows: Row[] = [
  {
    row: '9.1',
    says: 'the interface lives under /v1',
    modes: ALL,
    check: async (mode) => {
      assert.is((await mode.get('/v1/models')).status, 200);
      // Local modes also have the paths of llama-server, such as `/models`.
      const reply = await mode.get('/conversations/x');
      assert.is(reply.status, 404);
      assert.match((await readJson(reply)).error.message, /\/v1\/conversations/);
    },
  },
];
