/** Stores the folders of chats. The column `chats.folder` follows by foreign key: renamed with them, `NULL` after a removal. */
import { ChasquiError, invalidValue } from '../../errors.js';
import type { ChatFolder, FolderChange } from '../api-types.js';
import type { Store } from './database.js';

const MAX_FOLDERS = 200;

export class FolderStore {
  constructor(private readonly store: Store) {}

  list(): ChatFolder[] {
    const rows = this.store.rows<{ name: string; open: number }>('SELECT name, open FROM folders ORDER BY name');
    return rows.map(({ name, open }) => ({ name, open: open === 1 }));
  }

  has(name: string): boolean {
    return this.store.rows('SELECT 1 FROM folders WHERE name = ?', name).length > 0;
  }

  /** @throws {ChasquiError} `invalid_value` */
  add(name: string): void {
    this.#checkNew(name);
    if (this.list().length >= MAX_FOLDERS) {
      throw invalidValue(`The limit of ${MAX_FOLDERS} folders is reached. Remove some first.`);
    }
    this.store.run('INSERT INTO folders (name) VALUES (?)', name);
  }

  /** @throws {ChasquiError} `not_found`; `invalid_value` */
  change(name: string, change: FolderChange): void {
    this.#check(name);
    const { name: renamed = name, open } = change;
    if (renamed !== name) this.#checkNew(renamed);
    const shown = open === undefined ? null : Number(open);
    this.store.run('UPDATE folders SET name = ?, open = coalesce(?, open) WHERE name = ?', renamed, shown, name);
  }

  /** Its chats stay. Throws `not_found`. */
  remove(name: string): void {
    this.#check(name);
    this.store.run('DELETE FROM folders WHERE name = ?', name);
  }

  #check(name: string): void {
    if (!this.has(name)) throw new ChasquiError('not_found', `The folder \`${name}\` does not exist.`, 'name');
  }

  #checkNew(name: string): void {
    if (this.has(name)) throw invalidValue(`The folder \`${name}\` exists already.`, 'name');
  }
}
