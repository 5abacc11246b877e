/** Shows the last message where `current` names none. A chat with messages always shows one. */
export const SHOW_LAST_MESSAGE = `
  UPDATE chats SET current = (SELECT id FROM messages WHERE chat = chats.id ORDER BY position DESC LIMIT 1)
  WHERE NOT EXISTS (SELECT 1 FROM messages WHERE chat = chats.id AND id = chats.current)`;

/** Schema migrations. Published steps never change. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE chats (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    model TEXT,
    system_prompt TEXT NOT NULL,
    settings TEXT NOT NULL,
    current TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX chats_by_time ON chats (updated_at);

  CREATE TABLE messages (
    number INTEGER PRIMARY KEY,
    chat TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    position INTEGER NOT NULL,
    content TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (chat, id)
  ) STRICT;
  CREATE VIRTUAL TABLE message_texts USING fts5 (
    content, content='messages', content_rowid='number', tokenize="unicode61 remove_diacritics 2"
  );
  CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN
    INSERT INTO message_texts (rowid, content) VALUES (new.number, new.content);
  END;
  CREATE TRIGGER message_removed AFTER DELETE ON messages BEGIN
    INSERT INTO message_texts (message_texts, rowid, content) VALUES ('delete', old.number, old.content);
  END;
  CREATE TRIGGER message_changed AFTER UPDATE OF content ON messages BEGIN
    INSERT INTO message_texts (message_texts, rowid, content) VALUES ('delete', old.number, old.content);
    INSERT INTO message_texts (rowid, content) VALUES (new.number, new.content);
  END;

  CREATE TABLE requests (id TEXT PRIMARY KEY, at INTEGER NOT NULL, row TEXT NOT NULL) STRICT;
  CREATE INDEX requests_by_time ON requests (at);

  CREATE TABLE metrics (
    at INTEGER PRIMARY KEY,
    tokens_per_second REAL NOT NULL,
    ttft_p50 REAL,
    ttft_p95 REAL,
    running INTEGER NOT NULL,
    queued INTEGER NOT NULL,
    kv_usage REAL NOT NULL,
    memory_bytes INTEGER NOT NULL
  ) STRICT;
  `,
  // Earlier versions stored `current` before the message that it names.
  SHOW_LAST_MESSAGE,
  'ALTER TABLE chats ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0',
  `
  CREATE TABLE folders (name TEXT PRIMARY KEY, open INTEGER NOT NULL DEFAULT 1) STRICT, WITHOUT ROWID;
  ALTER TABLE chats ADD COLUMN folder TEXT REFERENCES folders (name) ON UPDATE CASCADE ON DELETE SET NULL;
  `,
  `
  CREATE TABLE passage_vectors (
    number INTEGER PRIMARY KEY,
    chat TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    digest TEXT NOT NULL,
    vector TEXT NOT NULL,
    UNIQUE (chat, model, digest)
  ) STRICT;
  `,
];
