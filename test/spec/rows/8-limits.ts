/** Section 8: limits. */
import * as assert from 'uvu/assert';
import { ALL, type Row } from '../row.js';

export const limitRows: Row[] = [
  {
    row: '8 typical ranges',
    says: 'are guidance, not bounds',
    modes: ALL,
    check: async (mode) => {
      const penalty = mode.mode === 'desktop' ? 'repeat_penalty' : 'repetition_penalty';
      const beyond = [
        { temperature: 0.05 },
        { temperature: 2.5 },
        { top_p: 0.05 },
        { top_k: 0 },
        { top_k: 500 },
        { [penalty]: 0.5 },
        { [penalty]: 2 },
      ];
      for (const fields of beyond) {
        const reply = await mode.chat({ max_tokens: 2, ...fields });
        assert.equal([reply.status, reply.headers.get('x-chasqui-ignored')], [200, null], JSON.stringify(fields));
      }
    },
  },
];
