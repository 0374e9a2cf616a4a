// A plain table of messages in SQLite, as in anybody's server: a running number and an index on the conversation, and each
// commit is on the disk before it is answered.

/** Opens the table at `path`; gives the database, and `append`, which writes a batch to a conversation in one transaction. */
export function plainTable(Database, path) {
  const database = new Database(path);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE messages (id INTEGER PRIMARY KEY, conversation TEXT NOT NULL, number INTEGER NOT NULL, message TEXT NOT NULL, UNIQUE (conversation, number))`);
  const last = database.prepare("SELECT coalesce(max(number), -1) AS number FROM messages WHERE conversation = ?");
  const insert = database.prepare("INSERT INTO messages (conversation, number, message) VALUES (?, ?, ?)");
  const write = database.transaction((conversation, batch) => {
    let { number } = last.get(conversation);
    for (const message of batch) insert.run(conversation, (number += 1), JSON.stringify(message));
  });
  return { database, append: (conversation, batch) => write.immediate(conversation, batch) };
}
