/** `chasqui users`: users of the dashboard. */
import { Command } from 'commander';
import type { userToJson } from '../../cloud/accounts/routes.js';
import { ChasquiError } from '../../errors.js';
import { ownCall } from '../../own-call.js';
import { addTableOptions, givenOptions } from '../options/table-options.js';
import { textTable } from '../output/table.js';
import { common, type Target, withTarget } from './apps.js';
import { USER_OPTIONS } from './option-table.js';
import { print, printJson, withHelp } from './outcome.js';

type Parsed = Readonly<Record<string, unknown>>;
type UserJson = ReturnType<typeof userToJson>;

export function usersCommand(): Command {
  const named = (name: string, says: string) => common(name, says).argument('<name>', 'Name for the sign-in');
  return withHelp(new Command('users'))
    .description('Invite, list and remove the users of the cloud pages.')
    .addCommand(
      addTableOptions(
        named('invite', 'Print a link for setting a password; known users get the given role.'),
        USER_OPTIONS,
      ).action((name: string, parsed: Parsed) => withTarget(parsed, (target) => invite(target, name, parsed))),
    )
    .addCommand(common('list', 'List the users.').action((parsed: Parsed) => withTarget(parsed, list)))
    .addCommand(
      named('reset-sign-in', 'Let another account of the OpenID Connect provider sign in as this user.').action(
        (name: string, parsed: Parsed) => withTarget(parsed, (target) => resetSignIn(target, name)),
      ),
    )
    .addCommand(
      named('rm', 'Remove a user and end its sessions.').action((name: string, parsed: Parsed) =>
        withTarget(parsed, (target) => remove(target, name)),
      ),
    );
}

async function invite({ cloud, org: ownOrg, json }: Target, name: string, parsed: Parsed): Promise<void> {
  const { role, allOrgs = false } = givenOptions(USER_OPTIONS, parsed, {});
  const { org: given } = parsed as { org?: string };
  // Known users keep their organisation.
  const otherwise = (await find(cloud, name)) === undefined ? ownOrg : undefined;
  const org = allOrgs ? null : (given ?? otherwise);
  const user = await cloud.post<UserJson & { setup_link: string }>('/users', { name, org, role });
  print(json, user, user.setup_link);
}

async function list({ cloud, json }: Target): Promise<void> {
  const { users } = await cloud.get<{ users: UserJson[] }>('/users');
  if (json) return printJson(users);
  if (users.length === 0) return console.log(`No users. Invite one: \`${ownCall()} users invite\``);
  const rows = users.map((user) => [user.name, user.org ?? 'all', user.role, signInOf(user)]);
  console.log(textTable([['NAME', 'ORGANISATION', 'ROLE', 'SIGN-IN'], ...rows]));
}

function signInOf({ has_password: hasPassword, oidc_issuer: issuer }: UserJson): string {
  const ways = [hasPassword && 'password', issuer !== null && new URL(issuer).host];
  return ways.filter(Boolean).join(', ') || 'invited';
}

async function resetSignIn({ cloud, json }: Target, name: string): Promise<void> {
  const { id } = await existing(cloud, name);
  const user = await cloud.delete<UserJson>(`/users/${encodeURIComponent(id)}/identity`);
  print(json, user, `The next sign-in with ${user.name} binds a new account.`);
}

async function remove({ cloud, json }: Target, name: string): Promise<void> {
  const user = await existing(cloud, name);
  await cloud.delete(`/users/${encodeURIComponent(user.id)}`);
  print(json, { removed: user.name }, `${user.name} is removed.`);
}

async function existing(cloud: Target['cloud'], name: string): Promise<UserJson> {
  const user = await find(cloud, name);
  if (user !== undefined) return user;
  throw new ChasquiError('key_not_found', `There is no user ${name}; see: ${ownCall()} users list`);
}

async function find(cloud: Target['cloud'], name: string): Promise<UserJson | undefined> {
  const { users } = await cloud.get<{ users: UserJson[] }>('/users');
  return users.find((each) => each.name.toLowerCase() === name.toLowerCase());
}
