/** Stores chats and messages, with full-text search. */
import { randomUUID } from 'node:crypto';
import { ChasquiError, invalidValue } from '../../errors.js';
import type { Chat, ChatChange, ChatMessage, ChatMessages, ListedChat } from '../api-types.js';
import type { ImportedChat } from '../import-chats.js';
import type { SqlValue, Store } from './database.js';
import { FolderStore } from './folders.js';
import { SHOW_LAST_MESSAGE } from './migrations.js';

const MAX_CHATS = 20_000;
const MAX_LISTED = 1000;
const MAX_WORDS = 20;
const SNIPPET_WORDS = 16;
/** Number of matching messages that a search reads. */
const MAX_HITS = 5000;

/** libsql returns the text of a TEXT column up to its first U+0000, but a BLOB completely. */
const whole = (column: string) => `CAST(${column} AS BLOB) AS ${column}`;

const CHAT_COLUMNS = `id, ${whole('title')}, ${whole('model')}, ${whole('system_prompt')}, settings, current, pinned, folder, created_at, updated_at`;

interface ChatRow {
  id: string;
  title: string;
  model: string | null;
  system_prompt: string;
  settings: string;
  current: string | null;
  pinned: number;
  folder: string | null;
  created_at: number;
  updated_at: number;
}

interface ListedRow extends ChatRow {
  messages: number;
  snippet: string | null;
  hit: string | null;
}

export class ChatStore {
  readonly folders: FolderStore;

  constructor(private readonly store: Store) {
    this.folders = new FolderStore(store);
  }

  /** Pinned ones first, then the most recently changed. With a text: chats that contain all its words in a message or the title. */
  list(text = ''): ListedChat[] {
    const match = toMatch(text);
    const rows = match === null ? this.#all() : this.#matching(match, text.trim());
    return rows.map(toListed);
  }

  create(change: ChatChange): Chat {
    return this.read(this.store.transaction(() => this.#insert(change)));
  }

  /** All or nothing; adds the folders of the chats and those of the list. Returns the ids. Throws like `change`. */
  import(chats: readonly ImportedChat[], folders: readonly string[] = []): string[] {
    return this.store.transaction(() => {
      const all = new Set([...folders, ...chats.flatMap(({ chat }) => chat.folder ?? [])]);
      for (const name of all) if (!this.folders.has(name)) this.folders.add(name);
      return chats.map(({ chat, createdAt, updatedAt }) => {
        const id = this.#insert(chat);
        this.store.run(
          'UPDATE chats SET created_at = coalesce(?, created_at), updated_at = coalesce(?, updated_at) WHERE id = ?',
          createdAt,
          updatedAt,
          id,
        );
        return id;
      });
    });
  }

  /** Of all chats, the oldest first. */
  ids(): string[] {
    return this.store.rows<{ id: string }>('SELECT id FROM chats ORDER BY created_at').map(({ id }) => id);
  }

  #insert(change: ChatChange): string {
    const [{ count } = { count: 0 }] = this.store.rows<{ count: number }>('SELECT count(*) AS count FROM chats');
    if (count >= MAX_CHATS) {
      throw invalidValue(`The limit of ${MAX_CHATS} chats is reached. Delete some first.`);
    }
    const id = randomUUID();
    const now = Date.now();
    this.store.run(
      "INSERT INTO chats (id, title, system_prompt, settings, created_at, updated_at) VALUES (?, '', '', '{}', ?, ?)",
      id,
      now,
      now,
    );
    this.#change(id, change);
    return id;
  }

  /** @throws {ChasquiError} `not_found` */
  read(id: string): Chat {
    const row = this.#row(id);
    const messages = this.store.rows<{ content: string; body: string }>(
      `SELECT ${whole('content')}, body FROM messages WHERE chat = ? ORDER BY position`,
      id,
    );
    return {
      id,
      title: row.title,
      model: row.model,
      systemPrompt: row.system_prompt,
      settings: JSON.parse(row.settings),
      messages: messages.map(({ content, body }) => ({ ...JSON.parse(body), content }) as ChatMessage),
      current: row.current,
      pinned: row.pinned === 1,
      folder: row.folder,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    };
  }

  /**
   * Updates the given fields; given messages replace all.
   * @throws {ChasquiError} `not_found`; `invalid_value` if `current` or a parent is not a message of the chat, or if the
   * folder does not exist
   */
  change(id: string, change: ChatChange): Chat {
    this.#row(id);
    this.store.transaction(() => this.#change(id, change));
    return this.read(id);
  }

  /** Adds messages, or replaces those with the same ids. Throws like `change`. */
  addMessages(id: string, { messages, current }: ChatMessages): void {
    this.#row(id);
    this.store.transaction(() => {
      this.#putMessages(id, messages);
      this.#change(id, current === undefined ? {} : { current });
    });
  }

  /**
   * Replies to the message become replies to the one before it.
   * @throws {ChasquiError} `not_found`
   */
  deleteMessage(id: string, message: string): Chat {
    const { current } = this.#row(id);
    const [row] = this.store.rows<{ parent: string | null }>(
      "SELECT body ->> 'parent' AS parent FROM messages WHERE chat = ? AND id = ?",
      id,
      message,
    );
    if (row === undefined) throw new ChasquiError('not_found', 'Message not found.', 'message');
    this.store.transaction(() => {
      this.store.run(
        "UPDATE messages SET body = json_set(body, '$.parent', ?) WHERE chat = ? AND body ->> 'parent' = ?",
        row.parent,
        id,
        message,
      );
      this.store.run('DELETE FROM messages WHERE chat = ? AND id = ?', id, message);
      this.#change(id, current === message ? { current: row.parent } : {});
    });
    return this.read(id);
  }

  /** `null` if there is no such chat. */
  updatedAt(id: string): number | null {
    const [row] = this.store.rows<{ updated_at: number }>('SELECT updated_at FROM chats WHERE id = ?', id);
    return row?.updated_at ?? null;
  }

  /** @throws {ChasquiError} `not_found` */
  delete(id: string): void {
    this.#row(id);
    this.store.run('DELETE FROM chats WHERE id = ?', id);
  }

  #row(id: string): ChatRow {
    const [row] = this.store.rows<ChatRow>(`SELECT ${CHAT_COLUMNS} FROM chats WHERE id = ?`, id);
    if (row === undefined) throw new ChasquiError('not_found', 'Chat not found.', 'id');
    return row;
  }

  #change(id: string, { messages, ...change }: ChatChange): void {
    const columns: [string, SqlValue][] = [];
    if (change.title !== undefined) columns.push(['title', change.title]);
    if (change.model !== undefined) columns.push(['model', change.model]);
    if (change.systemPrompt !== undefined) columns.push(['system_prompt', change.systemPrompt]);
    if (change.settings !== undefined) columns.push(['settings', JSON.stringify(change.settings)]);
    if (change.current !== undefined) columns.push(['current', change.current]);
    if (change.pinned !== undefined) columns.push(['pinned', Number(change.pinned)]);
    if (change.folder !== undefined) columns.push(['folder', change.folder]);
    if (change.folder && !this.folders.has(change.folder)) {
      throw invalidValue(`The folder \`${change.folder}\` does not exist.`, 'folder');
    }
    // Strictly increasing: pages recognise their own changes by it.
    const sets = ['updated_at = max(?, updated_at + 1)', ...columns.map(([name]) => `${name} = ?`)].join(', ');
    this.store.run(`UPDATE chats SET ${sets} WHERE id = ?`, Date.now(), ...columns.map(([, value]) => value), id);
    if (messages !== undefined) {
      const kept = JSON.stringify(messages.map((message) => message.id));
      this.store.run('DELETE FROM messages WHERE chat = ? AND id NOT IN (SELECT value FROM json_each(?))', id, kept);
      this.#putMessages(id, messages);
    }
    if (change.current) this.#checkIds(id, [change.current], 'current');
    this.store.run(`${SHOW_LAST_MESSAGE} AND id = ?`, id);
  }

  #checkIds(chat: string, ids: readonly string[], field: string): void {
    const [unknown] = this.store.rows<{ value: string }>(
      'SELECT value FROM json_each(?2) WHERE value NOT IN (SELECT id FROM messages WHERE chat = ?1) LIMIT 1',
      chat,
      JSON.stringify(ids),
    );
    if (unknown === undefined) return;
    throw invalidValue(`The chat has no message \`${unknown.value}\`.`, field);
  }

  #putMessages(chat: string, messages: readonly ChatMessage[]): void {
    const [last] = this.store.rows<{ position: number | null }>(
      'SELECT max(position) AS position FROM messages WHERE chat = ?',
      chat,
    );
    for (const [index, { content, ...body }] of messages.entries()) {
      this.store.run(
        `INSERT INTO messages (chat, id, position, content, body) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (chat, id) DO UPDATE SET content = excluded.content, body = excluded.body`,
        chat,
        body.id,
        (last?.position ?? 0) + index + 1,
        content,
        JSON.stringify(body),
      );
    }
    this.#checkIds(
      chat,
      messages.map(({ parent }) => parent).filter((parent) => parent !== null),
      'messages',
    );
  }

  #all(): ListedRow[] {
    return this.store.rows<ListedRow>(
      `SELECT ${CHAT_COLUMNS}, (SELECT count(*) FROM messages WHERE chat = chats.id) AS messages, NULL AS snippet, NULL AS hit
       FROM chats ORDER BY pinned DESC, updated_at DESC, id LIMIT ?`,
      MAX_LISTED,
    );
  }

  #matching(match: string, title: string): ListedRow[] {
    return this.store.rows<ListedRow>(
      `WITH hits AS (
         SELECT messages.chat AS chat, messages.id AS hit, found.snippet AS snippet, min(found.score)
         FROM (
           SELECT rowid AS number, rank AS score,
                  snippet(message_texts, 0, char(2), char(3), '…', ${SNIPPET_WORDS}) AS snippet
           FROM message_texts WHERE message_texts MATCH ?1 ORDER BY rank LIMIT ${MAX_HITS}
         ) AS found
         JOIN messages ON messages.number = found.number
         GROUP BY messages.chat
       )
       SELECT ${CHAT_COLUMNS}, (SELECT count(*) FROM messages WHERE chat = chats.id) AS messages,
              CAST(hits.snippet AS BLOB) AS snippet, hits.hit AS hit
       FROM chats LEFT JOIN hits ON hits.chat = chats.id
       WHERE hits.chat IS NOT NULL OR instr(lower(chats.title), lower(?2)) > 0
       ORDER BY chats.pinned DESC, chats.updated_at DESC, chats.id LIMIT ?3`,
      match,
      title,
      MAX_LISTED,
    );
  }
}

/** Converts text to an FTS5 query of prefix terms, quoted; `null` if it contains no word. */
function toMatch(text: string): string | null {
  const words = text.match(/[\p{L}\p{N}\p{M}]+/gu)?.slice(0, MAX_WORDS) ?? [];
  return words.length === 0
    ? null
    : words.map((word, index) => `"${word}"${index === words.length - 1 ? '*' : ''}`).join(' ');
}

function toListed(row: ListedRow): ListedChat {
  return {
    id: row.id,
    title: row.title,
    model: row.model,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    messageCount: row.messages,
    pinned: row.pinned === 1,
    folder: row.folder,
    snippet: row.snippet,
    hit: row.hit,
  };
}
