/** `chasqui keys`: who may use the private deployments of this machine. */
import { Command } from 'commander';
import { ChasquiError } from '../errors.js';
import type { ApiKey, KeyStore } from '../keys/key-store.js';
import { dataDir } from './data-dir.js';
import { explainFailure } from './explain-failure.js';
import { HOSTING_OPTIONS } from './hosting-option-table.js';
import { addTableOptions, givenOptions } from './table-options.js';

/** The option of `chasqui serve`, under the heading that the others here have. */
const DATA_DIR = { dataDir: { ...HOSTING_OPTIONS.dataDir, group: 'Options' } };

interface KeysOptions {
  dataDir?: string;
  json?: boolean;
  org?: string;
  name?: string;
}

export function keysCommand(): Command {
  return new Command('keys')
    .description('Create, list and revoke the API keys of private deployments (serve --mode serverless).')
    .addCommand(
      subcommand('create', 'Make a key and show it, this once.')
        .option('--org <org_id>', 'the only organisation whose deployments it opens (default: every one)')
        .option('--name <text>', 'what to call it in the list')
        .action((options: KeysOptions) => withKeys(options, (keys) => create(keys, options))),
    )
    .addCommand(
      subcommand('list', 'List the keys, without their secrets.')
        .option('--org <org_id>', 'only those that open the deployments of this organisation')
        .action((options: KeysOptions) => withKeys(options, (keys) => list(keys, options))),
    )
    .addCommand(
      subcommand('revoke', 'Make a key invalid; running servers refuse it from their next request on.')
        .argument('<id>', 'the part of the key before the colon')
        .action((id: string, options: KeysOptions) => withKeys(options, (keys) => revoke(keys, id, options))),
    )
    .helpOption('-h, --help', 'explain the command');
}

function subcommand(name: string, description: string): Command {
  return addTableOptions(new Command(name), DATA_DIR)
    .description(description)
    .option('--json', 'print JSON, for programs')
    .helpOption('-h, --help', 'explain the options');
}

/** Prints what `action` returns. */
async function withKeys(options: KeysOptions, action: (keys: KeyStore) => string): Promise<void> {
  try {
    const { KeyStore } = await import('../keys/key-store.js');
    const keys = KeyStore.open(dataDir(givenOptions(DATA_DIR, { ...options }).dataDir));
    try {
      console.log(action(keys));
    } finally {
      keys.close();
    }
  } catch (error) {
    console.error(`chasqui: ${explainFailure(error)}`);
    process.exitCode = 1;
  }
}

function create(keys: KeyStore, { org, name, json }: KeysOptions): string {
  const created = keys.create({ org: org ?? null, name: name ?? null });
  if (json) return JSON.stringify(created);
  return [
    created.key,
    '',
    'This is the only time that the key is shown. Clients send it with every request:',
    '',
    `  Authorization: Key ${created.key}`,
  ].join('\n');
}

function list(keys: KeyStore, { org, json }: KeysOptions): string {
  const found = keys.list({ org: org ?? null });
  if (json) return JSON.stringify(found.map(toJson));
  if (found.length === 0) return 'There are no keys; `chasqui keys create` makes one.';
  const header = ['ID', 'NAME', 'ORGANISATION', 'CREATED', 'REVOKED'];
  const rows = found.map(({ id, name, org, createdAt, revokedAt }) => [
    id,
    name ?? '-',
    org ?? 'every one',
    toDate(createdAt),
    revokedAt === null ? '-' : toDate(revokedAt),
  ]);
  return toTable([header, ...rows]);
}

function revoke(keys: KeyStore, id: string, { json }: KeysOptions): string {
  const revoked = keys.revoke(id.split(':', 1)[0] ?? '');
  if (!revoked) throw new ChasquiError('invalid_options', `there is no key with the id ${id}; see: chasqui keys list`);
  return json ? JSON.stringify(toJson(revoked)) : `The key ${revoked.id} is revoked.`;
}

function toJson({ id, name, org, createdAt, revokedAt }: ApiKey): object {
  return { id, name, org, created_at: createdAt, revoked_at: revokedAt };
}

function toDate(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().slice(0, 16).replace('T', ' ');
}

function toTable(rows: readonly string[][]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}
