import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ListedChat } from '../../../api-types.js';
import { Action, IconAction } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { Icon } from '../../parts/icon.js';
import { NameDialog } from '../../parts/name-dialog.js';
import { first, newChat, togglePanel, uncoverChat } from '../../state/chat-pages.js';
import { chatFilter, chats, deleteChat, refreshChats, renameChat } from '../../state/chats.js';
import { age } from '../../state/format.js';
import { attempt } from '../../state/notices.js';
import { linkTo } from '../../state/route.js';

const patienceMs = 200;

export function History() {
  const text = chatFilter.value;
  useEffect(() => {
    const timer = setTimeout(() => void attempt(refreshChats), patienceMs);
    return () => clearTimeout(timer);
  }, [text]);
  const list = chats.value;
  return (
    <aside class="panel history" aria-label="History">
      <div class="panel-head">
        <input
          type="search"
          aria-label="Search all chats"
          placeholder="Search all chats"
          value={text}
          onInput={(event) => {
            chatFilter.value = event.currentTarget.value;
          }}
        />
        <span class="panel-close">
          <IconAction label="Close the history" icon="close" run={() => togglePanel('history')} />
        </span>
      </div>
      {list.length === 0 && <p class="muted">{text ? 'No matching chats.' : 'No chats yet.'}</p>}
      <ul>
        {list.map((chat) => (
          <Entry key={chat.id} chat={chat} />
        ))}
      </ul>
    </aside>
  );
}

function Entry({ chat }: { chat: ListedChat }) {
  const asking = useSignal(false);
  const renaming = useSignal(false);
  const { id, title, updatedAt, snippet } = chat;
  const remove = async () => {
    asking.value = false;
    await deleteChat(id);
    if (first.id.value === id) await newChat();
  };
  return (
    <li class="history-entry">
      <a href={linkTo('chat', id)} aria-current={first.id.value === id ? 'true' : undefined} onClick={uncoverChat}>
        <span class="history-title" dir="auto">
          {chat.running && <span class="dot good" />} {title || 'Chat'}
        </span>
        {snippet ? <Snippet text={snippet} /> : <span class="help">{chat.running ? 'Writing …' : age(updatedAt)}</span>}
      </a>
      <IconAction
        label={`Rename the chat ${title}`}
        icon="edit"
        run={() => {
          renaming.value = true;
        }}
      />
      {renaming.value && (
        <NameDialog
          title="Rename this chat"
          field="Title"
          name={title}
          maxLength={500}
          action="Rename"
          save={(name) => name !== title && renameChat(id, name)}
          close={() => {
            renaming.value = false;
          }}
        />
      )}
      <IconAction
        label={`Delete the chat ${title}`}
        icon="trash"
        run={() => {
          asking.value = true;
        }}
      />
      {asking.value && (
        <Dialog
          title="Delete this chat?"
          close={() => {
            asking.value = false;
          }}
        >
          <p>“{title}” and all its messages will be gone.</p>
          <div class="row">
            <Export id={id} format="md" label="Export as Markdown first" />
            <Export id={id} format="json" label="Export as JSON first" />
          </div>
          <div class="dialog-foot">
            <Action
              label="Keep it"
              run={() => {
                asking.value = false;
              }}
            />
            <Action label="Delete" kind="danger" icon="trash" run={remove} />
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
