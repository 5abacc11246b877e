/** Compaction items: a summary in place of earlier items. Clients return them unread. */
import { randomBytes } from 'node:crypto';

/** Marks summaries of this server. OpenAI's own cannot be read. */
const PREFIX = 'chasqui-summary:';

export interface CompactionItem {
  type: 'compaction';
  id: string;
  /** The summary in base64. It is not encrypted: only the client has it. */
  encrypted_content: string;
}

export function toCompactionItem(summary: string): CompactionItem {
  const encrypted_content = PREFIX + Buffer.from(summary).toString('base64');
  return { type: 'compaction', id: `cmp_${randomBytes(16).toString('hex')}`, encrypted_content };
}

/** Returns the message that shows the summary to the model, or null for items of other servers. */
export function shownSummary({ encrypted_content: content }: Pick<CompactionItem, 'encrypted_content'>): string | null {
  if (!content.startsWith(PREFIX)) return null;
  const summary = Buffer.from(content.slice(PREFIX.length), 'base64').toString();
  return `Summary of the earlier conversation:\n\n${summary}`;
}
