/** Simulates the routing of requests to several runners: `npm run bench:sim -- routing --help`. */
import { parseArgs } from 'node:util';
import { POLICIES, type PolicyName } from './policies.js';
import { type Outcome, simulate } from './simulate.js';
import { SHAPES, type Shape } from './traffic.js';

const HELP = `npm run bench:sim -- routing [options]; every combination is a block of lines

  --shape chat,agents     ${SHAPES.join(', ')}; all
  --runners 2,4,8         how many runners; 2,4,8
  --load 0.7,1.1          arrivals as a share of what all could do if every token were computed once; 0.7,1.1
  --policy prefix,oracle  ${Object.keys(POLICIES).join(', ')}; all
  --requests 1000         for each runner; 1000
  --seed 1
`;

const { values } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== 'routing'),
  options: {
    shape: { type: 'string', default: SHAPES.join(',') },
    runners: { type: 'string', default: '2,4,8' },
    load: { type: 'string', default: '0.7,1.1' },
    policy: { type: 'string', default: Object.keys(POLICIES).join(',') },
    requests: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});

function percentile(sorted: readonly number[], share: number): string {
  return (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(2);
}

function row(name: string, outcome: Outcome, others: ReadonlyMap<string, Outcome>): string {
  const beside = (other: string): string => {
    const reference = others.get(other);
    return reference === undefined ? '' : (outcome.tokensPerSecond / reference.tokensPerSecond).toFixed(2);
  };
  const { tokensPerSecond, firstToken, computed, unique, imbalance } = outcome;
  const columns = [
    name,
    String(Math.round(tokensPerSecond)),
    beside('oracle'),
    beside('least active'),
    [0.5, 0.9, 0.99].map((share) => percentile(firstToken, share)).join(' / '),
    (computed / unique).toFixed(2),
    imbalance.toFixed(2),
  ];
  return `| ${columns.join(' | ')} |`;
}

if (values.help) {
  console.log(HELP);
} else {
  const numbers = (text: string): number[] => text.split(',').map(Number);
  for (const shape of values.shape.split(',') as Shape[]) {
    for (const runners of numbers(values.runners)) {
      for (const load of numbers(values.load)) {
        const setting = {
          shape,
          runners,
          load,
          requests: Number(values.requests) * runners,
          seed: Number(values.seed),
        };
        const outcomes = new Map<string, Outcome>();
        for (const name of values.policy.split(',') as PolicyName[]) {
          outcomes.set(name, simulate(setting, POLICIES[name]()));
        }
        console.log(`\n${shape}, ${runners} runners, load ${load}\n`);
        console.log(
          '| | tokens/s | ÷ oracle | ÷ least active | first token s, p50 / p90 / p99 | computed ÷ unique | busiest ÷ mean |',
        );
        console.log('| --- | --- | --- | --- | --- | --- | --- |');
        for (const [name, outcome] of outcomes) console.log(row(name, outcome, outcomes));
      }
    }
  }
}
