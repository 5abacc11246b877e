/** `chasqui secrets`: write-only values for the environment of runners. */
import { Command } from 'commander';
import { invalidOptions } from '../../errors.js';
import { ownCall } from '../../own-call.js';
import { textTable } from '../output/table.js';
import { common, type Target, withTarget } from './apps.js';
import { print, printJson, toDate, withHelp } from './outcome.js';
import { readInput } from './read-input.js';

type Parsed = Readonly<Record<string, unknown>>;

export function secretsCommand(): Command {
  return withHelp(new Command('secrets'))
    .description('Set, list and remove the secrets of an organisation.')
    .addCommand(
      common('set', 'Store a secret for runners that start from now on.')
        .argument('<name>', 'its name, such as HF_TOKEN')
        .argument('[value]', 'Value; read from standard input by default')
        .action((name: string, value: string | undefined, parsed: Parsed) =>
          withTarget(parsed, (target) => set(target, name, value)),
        ),
    )
    .addCommand(common('list', 'List the names.').action((parsed: Parsed) => withTarget(parsed, list)))
    .addCommand(
      common('rm', 'Remove a secret.')
        .argument('<name>', 'its name')
        .action((name: string, parsed: Parsed) => withTarget(parsed, (target) => remove(target, name))),
    );
}

async function set({ cloud, org, json }: Target, name: string, given: string | undefined): Promise<void> {
  const value = given ?? (await readInput());
  if (value === '') throw invalidOptions('The value is empty.');
  const reply = await cloud.put(`/secrets/${encodeURIComponent(org)}/${encodeURIComponent(name)}`, { value });
  if (json) printJson(reply);
  else
    console.log(
      `${name} is set for runners that start from now on. Restart running ones: \`${ownCall()} apps restart\``,
    );
}

async function list({ cloud, org, json }: Target): Promise<void> {
  type Reply = { secrets: { name: string; updated_at: number }[] };
  const { secrets } = await cloud.get<Reply>(`/secrets/${encodeURIComponent(org)}`);
  if (json) return printJson(secrets);
  if (secrets.length === 0) return console.log('No secrets.');
  console.log(textTable([['NAME', 'SET'], ...secrets.map(({ name, updated_at: at }) => [name, toDate(at)])]));
}

async function remove({ cloud, org, json }: Target, name: string): Promise<void> {
  const reply = await cloud.delete(`/secrets/${encodeURIComponent(org)}/${encodeURIComponent(name)}`);
  print(json, reply, `${name} is removed.`);
}
