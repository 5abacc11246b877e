// A key's life, by the command line, with a runner that computes.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TestCloud } from '../support/cloud.js';
import { until } from '../support/until.js';

const test = suite('cloud: keys');
let cloud: TestCloud;

test.before(async () => {
  cloud = await TestCloud.start();
  await cloud.deployed('chat', { auth: 'private', scale: { min: 1 } });
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

interface Made {
  id: string;
  key: string;
}

interface Usage {
  key_id: string;
  prompt_tokens: number;
  completion_tokens: number;
}

async function create(...limits: string[]): Promise<Made> {
  const { code, stdout, stderr } = await cloud.cli('keys', 'create', '--json', '--org', 'me', ...limits);
  assert.is(code, 0, stderr);
  return JSON.parse(stdout);
}

function ask({ key }: Made): Promise<Response> {
  return cloud.post('chat', { max_tokens: 3, ignore_eos: true }, { authorization: `Key ${key}` });
}

test('what each key has used is told apart, in the tokens that its clients were told', async () => {
  const [one, other] = [await create(), await create()];
  const told = { prompt: 0, completion: 0 };
  for (const made of [one, other, one]) {
    const { usage } = (await (await ask(made)).json()) as { usage: Usage };
    if (made !== one) continue;
    told.prompt += usage.prompt_tokens;
    told.completion += usage.completion_tokens;
  }
  let used: Usage[] = [];
  await until(async () => {
    used = (await cloud.client.get<{ usage: Usage[] }>('/usage?by=day')).usage;
    const tokens = used.filter(({ key_id }) => key_id === one.id || key_id === other.id);
    return tokens.reduce((sum, each) => sum + each.completion_tokens, 0) === 9;
  }, 'three requests are counted');
  const usedBy = used.filter(({ key_id }) => key_id === one.id);
  const sum = (field: 'prompt_tokens' | 'completion_tokens') => usedBy.reduce((all, each) => all + each[field], 0);
  assert.equal({ prompt: sum('prompt_tokens'), completion: sum('completion_tokens') }, told);
});

test('a key keeps to its limits, and another one does not have them', async () => {
  const [limited, free] = [await create('--requests-per-minute', '2'), await create()];
  const statuses: number[] = [];
  for (let request = 0; request < 3; request++) statuses.push((await ask(limited)).status);
  assert.equal(statuses, [200, 200, 429]);
  assert.is((await ask(free)).status, 200);
});

test('a key is listed, opens until it is revoked, and not after', async () => {
  const made = await create();
  assert.is((await ask(made)).status, 200);
  const list = JSON.parse((await cloud.cli('keys', 'list', '--json')).stdout) as { id: string }[];
  assert.ok(list.some(({ id }) => id === made.id));
  assert.is((await cloud.cli('keys', 'revoke', made.id)).code, 0);
  assert.is((await ask(made)).status, 401);
});

test.run();
