import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ListedChat } from '../../../api-types.js';
import { Action, FileAction, IconAction } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { Icon } from '../../parts/icon.js';
import { NameDialog } from '../../parts/name-dialog.js';
import { download, importChats } from '../../state/attachments.js';
import { first, newChat, togglePanel, uncoverChat } from '../../state/chat-pages.js';
import { changeChat, chatFilter, chats, deleteChat, refreshChats } from '../../state/chats.js';
import { dateTime, dayOf } from '../../state/format.js';
import { t } from '../../state/language.js';
import { attempt, notify } from '../../state/notices.js';
import { linkTo } from '../../state/route.js';
import { setTo } from '../../state/set-to.js';
import { dropInto, FolderSection, MoveChat, NewFolder, sortedFolders, startDrag } from './folders.js';

const patienceMs = 200;

export function History() {
  const text = chatFilter.value;
  useEffect(() => {
    const timer = setTimeout(() => void attempt(refreshChats), patienceMs);
    return () => clearTimeout(timer);
  }, [text]);
  const list = chats.value;
  const creating = useSignal(false);
  // Search results are not in folders, which may be closed.
  const folders = text ? [] : sortedFolders();
  const outside = text ? list : list.filter(({ folder }) => folder === null);
  const headings = [...new Set(outside.map(headingOf))];
  return (
    <aside class="panel history" aria-label={t('history')} {...dropInto(null)}>
      <div class="panel-head">
        <input
          type="search"
          aria-label={t('searchAllChats')}
          placeholder={t('searchAllChats')}
          value={text}
          onInput={(event) => {
            chatFilter.value = event.currentTarget.value;
          }}
        />
        <span class="panel-close">
          <IconAction label={t('closeHistory')} icon="close" run={() => togglePanel('history')} />
        </span>
      </div>
      {folders.map((folder) => {
        const inside = list.filter((chat) => chat.folder === folder.name);
        return (
          <FolderSection key={folder.name} folder={folder} count={inside.length}>
            <Entries chats={inside} />
          </FolderSection>
        );
      })}
      {list.length === 0 && <p class="muted">{t(text ? 'noMatchingChats' : 'noChats')}</p>}
      {headings.map((heading) => (
        <section key={heading} aria-label={heading}>
          <h2 class="history-heading">{heading}</h2>
          <Entries chats={outside.filter((chat) => headingOf(chat) === heading)} />
        </section>
      ))}
      <div class="row">
        <IconAction label={t('newFolder')} icon="folder" run={setTo(creating, true)} />
        <FileAction label={t('importChats')} accept=".json" icon="downloads" take={takeExports} />
        <IconAction
          label={t('exportAllChats')}
          icon="export"
          run={() => download('/api/v1/chats/export', 'chats.json')}
        />
      </div>
      {creating.value && <NewFolder close={setTo(creating, false)} />}
    </aside>
  );
}

function Entries({ chats }: { chats: readonly ListedChat[] }) {
  return (
    <ul>
      {chats.map((chat) => (
        <Entry key={chat.id} chat={chat} />
      ))}
    </ul>
  );
}

async function takeExports(files: readonly File[]): Promise<void> {
  const count = await importChats(files);
  notify('done', t('importedChats', { count }));
}

function headingOf({ pinned, updatedAt }: ListedChat): string {
  return pinned ? t('pinnedChats') : dayOf(updatedAt);
}

function Changed({ chat: { running, updatedAt } }: { chat: ListedChat }) {
  if (running) return <span class="help">{t('writing')}</span>;
  return (
    <time class="help" dateTime={new Date(updatedAt).toISOString()}>
      {dateTime(updatedAt)}
    </time>
  );
}

function Entry({ chat }: { chat: ListedChat }) {
  const asking = useSignal(false);
  const renaming = useSignal(false);
  const moving = useSignal(false);
  const { id, title, snippet, hit, pinned } = chat;
  const remove = async () => {
    asking.value = false;
    await deleteChat(id);
    if (first.id.value === id) await newChat();
  };
  return (
    <li class="history-entry">
      <a
        href={linkTo('chat', hit ? `${id}/${hit}` : id)}
        aria-current={first.id.value === id ? 'true' : undefined}
        onClick={uncoverChat}
        onDragStart={(event) => startDrag(event, id)}
      >
        <span class="history-title" dir="auto">
          {chat.running && <span class="dot good" />} {title || t('untitledChat')}
        </span>
        {snippet ? <Snippet text={snippet} /> : <Changed chat={chat} />}
      </a>
      <span class="history-actions">
        <IconAction
          label={t(pinned ? 'unpinChat' : 'pinChat', { title })}
          icon="pin"
          run={() => changeChat(id, { pinned: !pinned })}
        />
        <IconAction label={t('moveChat', { title })} icon="folder" run={setTo(moving, true)} />
        <IconAction label={t('renameChat', { title })} icon="edit" run={setTo(renaming, true)} />
        <IconAction label={t('deleteChat', { title })} icon="trash" run={setTo(asking, true)} />
      </span>
      {moving.value && <MoveChat chat={chat} close={setTo(moving, false)} />}
      {renaming.value && (
        <NameDialog
          title={t('renameThisChat')}
          field={t('title')}
          name={title}
          maxLength={500}
          action={t('rename')}
          save={(name) => name !== title && changeChat(id, { title: name })}
          close={setTo(renaming, false)}
        />
      )}
      {asking.value && (
        <Dialog title={t('deleteChatQuestion')} close={setTo(asking, false)}>
          <p>{t('chatWillBeGone', { title })}</p>
          <div class="row">
            <Export id={id} format="md" label={t('exportMarkdownFirst')} />
            <Export id={id} format="json" label={t('exportJsonFirst')} />
          </div>
          <div class="dialog-foot">
            <Action label={t('keepIt')} run={setTo(asking, false)} />
            <Action label={t('delete')} kind="danger" icon="trash" run={remove} />
          </div>
        </Dialog>
      )}
    </li>
  );
}

export function Export({ id, format, label }: { id: string; format: 'md' | 'json'; label: string }) {
  const href = `/api/v1/chats/${encodeURIComponent(id)}/export?format=${format}`;
  return (
    <a class="button" href={href} download>
      <Icon name="export" /> {label}
    </a>
  );
}

/** Highlights the matches between U+0002 and U+0003. */
function Snippet({ text }: { text: string }) {
  const parts = text.replaceAll('\u0003', '\u0002').split('\u0002');
  return <span class="help">{parts.map((part, index) => (index % 2 ? <mark key={index}>{part}</mark> : part))}</span>;
}
