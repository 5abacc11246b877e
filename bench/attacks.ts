/**
 * Three organisations attack a cloud: requests that a bystander loses, and its time to the first byte.
 *
 *     node --import tsx bench/attacks.ts --minutes 10
 */
import { parseArgs } from 'node:util';
import { attackCloud } from '../test/support/attack-cloud.js';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } });
const report = await attackCloud(Number(values.minutes) * 60_000);
console.log(JSON.stringify(report, null, 2));
process.exitCode = report.lost.length === 0 ? 0 : 1;
