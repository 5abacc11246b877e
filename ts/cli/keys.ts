/** `chasqui keys`: manages the API keys of private deployments, in a cloud or on this machine. */
import { Command } from 'commander';
import { ChasquiError } from '../errors.js';
import { dataDir } from '../hub/data-folder.js';
import { ownCall } from '../own-call.js';
import { withExitCode } from './errors/exit-codes.js';
import { explainFailure } from './errors/explain-failure.js';
import type { KeyJson, KeysPlace } from './keys-place.js';
import { CREATE_OPTIONS, KEYS_OPTIONS, REACH_OPTIONS, toKeySettings } from './options/key-options.js';
import { addTableOptions, givenOptions } from './options/table-options.js';
import { textTable } from './output/table.js';

type Parsed = Readonly<Record<string, unknown>>;

export function keysCommand(): Command {
  return new Command('keys')
    .description('Create, list and revoke the API keys of private deployments: those of the cloud, or of this machine.')
    .addCommand(
      addTableOptions(subcommand('create', 'Create a key and show it once.'), CREATE_OPTIONS).action((parsed: Parsed) =>
        withKeys(parsed, (keys, json) => create(keys, parsed, json)),
      ),
    )
    .addCommand(
      addTableOptions(subcommand('list', 'List the keys, without their secrets.'), {
        ...KEYS_OPTIONS,
        org: { ...REACH_OPTIONS.org, help: 'List only keys for this organisation' },
        app: { ...REACH_OPTIONS.app, help: 'List only keys for this app' },
      }).action((parsed: Parsed) => withKeys(parsed, (keys, json) => list(keys, parsed, json))),
    )
    .addCommand(
      addTableOptions(
        subcommand('revoke', 'Revoke a key; running servers reject it from the next request on.'),
        KEYS_OPTIONS,
      )
        .argument('<id>', 'Part of the key before the colon')
        .action((id: string, parsed: Parsed) => withKeys(parsed, (keys, json) => revoke(keys, id, json))),
    )
    .helpOption('-h, --help', 'Show help');
}

function subcommand(name: string, description: string): Command {
  return new Command(name).description(description).helpOption('-h, --help', 'Show help');
}

/** Advice goes to standard error, so `KEY=$(chasqui keys create)` captures the key alone. */
interface Printed {
  text: string;
  advice?: string;
}

async function withKeys(
  parsed: Parsed,
  action: (keys: KeysPlace, json: boolean) => Promise<string | Printed>,
): Promise<void> {
  const run = async () => {
    const { openKeys } = await import('./keys-place.js');
    const given = givenOptions(KEYS_OPTIONS, parsed, { CHASQUI_HOME: process.env.CHASQUI_HOME });
    const keys = await openKeys(dataDir(given.dataDir), { local: given.local ?? false });
    try {
      const printed = await action(keys, given.json ?? false);
      const { text, advice }: Printed = typeof printed === 'string' ? { text: printed } : printed;
      console.log(text);
      if (advice !== undefined) console.error(advice);
    } finally {
      keys.close();
    }
  };
  await withExitCode(run, (error) => explainFailure(withFlags(error)));
}

/** Replaces option names in an error with the flags of the command. */
function withFlags(error: unknown): unknown {
  if (!(error instanceof ChasquiError)) return error;
  const flags = Object.entries(CREATE_OPTIONS).map(([name, { flag }]) => [name, flag] as const);
  const fields = [
    ['expires_at', CREATE_OPTIONS.expires.flag],
    ['limits.body_bytes', CREATE_OPTIONS.maxBody.flag],
  ] as const;
  const message = [...flags, ...fields].reduce(
    (text, [name, flag]) => text.replaceAll(`\`${name}\``, flag),
    error.message,
  );
  return error.withMessage(message, error.param);
}

async function create(keys: KeysPlace, parsed: Parsed, json: boolean): Promise<string | Printed> {
  const { id, key } = await keys.create(toKeySettings(parsed));
  if (json) return JSON.stringify({ id, key });
  const advice = 'The key is shown only once. Clients send it with every request:';
  return { text: key, advice: `\n${advice}\n\n  Authorization: Key ${key}` };
}

async function list(keys: KeysPlace, { org, app }: { org?: string; app?: string }, json: boolean): Promise<string> {
  const found = await keys.list({ org: org ?? null, app: app ?? null });
  if (json) return JSON.stringify(found);
  if (found.length === 0) return `No keys. Create one: \`${ownCall()} keys create\``;
  const header = ['ID', 'NAME', 'OPENS', 'MAY', 'CREATED', 'USED', 'ENDS'];
  const rows = found.map((key) => [
    key.id,
    key.name === null ? '-' : shorten(key.name),
    key.org === null ? 'every one' : key.app === null ? key.org : `${key.org}/${key.app}`,
    key.scopes.join(','),
    toDate(key.created_at),
    key.last_used_at === null ? '-' : toDate(key.last_used_at),
    endOf(key),
  ]);
  return textTable([header, ...rows]);
}

function endOf({ revoked_at: revokedAt, expires_at: expiresAt }: KeyJson): string {
  if (revokedAt !== null) return `revoked ${toDate(revokedAt)}`;
  return expiresAt === null ? '-' : toDate(expiresAt);
}

async function revoke(keys: KeysPlace, id: string, json: boolean): Promise<string> {
  const revoked = await keys.revoke(id.split(':', 1)[0] ?? '');
  if (!revoked)
    throw new ChasquiError('key_not_found', `There is no key with the id ${id}; see: ${ownCall()} keys list`);
  return json ? JSON.stringify(revoked) : `The key ${revoked.id} is revoked.`;
}

function toDate(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().slice(0, 10);
}

const SHOWN_NAME = 24;

/** Replaces control characters, and cuts long names. */
function shorten(name: string): string {
  const printable = name.replace(/\p{C}/gu, '?');
  return printable.length > SHOWN_NAME ? `${printable.slice(0, SHOWN_NAME - 1)}…` : printable;
}
