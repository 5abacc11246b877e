/** Folders of the history: a section that opens and closes, and the ways to move a chat. */
import { signal, useSignal } from '@preact/signals';
import type { ComponentChildren, TargetedDragEvent } from 'preact';
import type { ChatFolder, ListedChat } from '../../../api-types.js';
import { Action, IconAction } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { Icon } from '../../parts/icon.js';
import { NameDialog } from '../../parts/name-dialog.js';
import { addFolder, changeChat, changeFolder, folders, removeFolder } from '../../state/chats.js';
import { locale, t } from '../../state/language.js';
import { attempt } from '../../state/notices.js';
import { setTo } from '../../state/set-to.js';

const maxName = 80;

/** The type of dragged chats: other programs cannot drop theirs. */
const dragType = 'application/x-chasqui-chat';

/** The folder below a dragged chat; `null`: the history outside of folders. */
const dragTarget = signal<string | null | undefined>(undefined);

export function sortedFolders(): readonly ChatFolder[] {
  return folders.value.toSorted((one, other) => one.name.localeCompare(other.name, locale()));
}

export function startDrag(event: TargetedDragEvent<HTMLElement>, chat: string): void {
  event.dataTransfer?.setData(dragType, chat);
}

/** Attributes of an element that takes dropped chats. */
export function dropInto(folder: string | null) {
  return {
    'data-target': dragTarget.value === folder || undefined,
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes(dragType)) return;
      event.preventDefault();
      event.stopPropagation();
      dragTarget.value = folder;
    },
    onDragLeave: setTo(dragTarget, undefined),
    onDrop: (event: DragEvent) => {
      const id = event.dataTransfer?.getData(dragType);
      if (!id) return;
      event.preventDefault();
      event.stopPropagation();
      dragTarget.value = undefined;
      void attempt(() => changeChat(id, { folder }));
    },
  };
}

interface FolderSectionProps {
  folder: ChatFolder;
  count: number;
  children: ComponentChildren;
}

export function FolderSection({ folder: { name, open }, count, children }: FolderSectionProps) {
  const dialog = useSignal<'rename' | 'remove' | undefined>(undefined);
  const close = setTo(dialog, undefined);
  return (
    <section aria-label={name} class="history-folder" {...dropInto(name)}>
      <div class="history-entry">
        <h2 class="history-heading">
          <button
            type="button"
            aria-expanded={open}
            onClick={() => void attempt(() => changeFolder(name, { open: !open }))}
          >
            <Icon name={open ? 'down' : 'next'} />
            <span dir="auto">{name}</span> <span class="muted">{count}</span>
          </button>
        </h2>
        <span class="history-actions">
          <IconAction label={t('renameFolder', { name })} icon="edit" run={setTo(dialog, 'rename')} />
          <IconAction label={t('removeFolder', { name })} icon="trash" run={setTo(dialog, 'remove')} />
        </span>
      </div>
      {open && children}
      {dialog.value === 'rename' && (
        <NameDialog
          title={t('renameThisFolder')}
          field={t('folderName')}
          name={name}
          maxLength={maxName}
          action={t('rename')}
          save={(text) => changeFolder(name, { name: text })}
          close={close}
        />
      )}
      {dialog.value === 'remove' && (
        <Dialog title={t('removeFolderQuestion')} close={close}>
          <p>{t('chatsOfFolderStay', { name })}</p>
          <div class="dialog-foot">
            <Action label={t('keepIt')} run={close} />
            <Action label={t('remove')} kind="danger" icon="trash" run={() => removeFolder(name).finally(close)} />
          </div>
        </Dialog>
      )}
    </section>
  );
}

interface NewFolderProps {
  /** Called after the folder was created. */
  then?: (name: string) => unknown;
  close: () => void;
}

export function NewFolder({ then, close }: NewFolderProps) {
  return (
    <NameDialog
      title={t('newFolder')}
      field={t('folderName')}
      name=""
      maxLength={maxName}
      action={t('create')}
      save={async (name) => {
        await addFolder(name);
        await then?.(name);
      }}
      close={close}
    />
  );
}

export function MoveChat({ chat: { id, folder: current }, close }: { chat: ListedChat; close: () => void }) {
  const creating = useSignal(false);
  const move = (folder: string | null) => changeChat(id, { folder }).finally(close);
  if (creating.value) return <NewFolder then={move} close={close} />;
  return (
    <Dialog title={t('moveThisChat')} close={close}>
      <ul class="choices">
        {[null, ...sortedFolders().map(({ name }) => name)].map((folder) => (
          <li key={folder}>
            <Action label={folder ?? t('noFolder')} disabled={folder === current} run={() => move(folder)}>
              <span dir="auto">{folder ?? t('noFolder')}</span>
              {folder === current && <Icon name="check" />}
            </Action>
          </li>
        ))}
      </ul>
      <div class="dialog-foot">
        <Action label={t('newFolder')} icon="plus" run={setTo(creating, true)} />
      </div>
    </Dialog>
  );
}
