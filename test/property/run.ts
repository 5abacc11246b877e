/** Random bodies for as long as wanted: `npm run test:bodies -- --bodies 20000 --seed 2`. */
import { parseArgs } from 'node:util';
import { sendBodies } from './send-bodies.js';

const { values } = parseArgs({
  options: { bodies: { type: 'string', default: '20000' }, seed: { type: 'string', default: '1' } },
});
const { problems, statuses, atRest, jobs } = await sendBodies(Number(values.bodies), Number(values.seed));
for (const problem of problems) console.log(problem);
console.log(`${values.bodies} bodies of seed ${values.seed}; statuses ${JSON.stringify(statuses)}; ${jobs} jobs`);
console.log(`at rest: ${JSON.stringify(atRest)}; ${problems.length} problems`);
process.exitCode = problems.length === 0 && atRest.active === 0 && atRest.queued === 0 ? 0 : 1;
