/** Chats with local models, without the server. */

import { useEffect } from 'preact/hooks';
import { Action, IconAction } from '../../parts/button.js';
import { Empty, Page } from '../../parts/page.js';
import {
  compare,
  comparing,
  followChatAddress,
  followModels,
  hasModels,
  openChat,
  panels,
  sessions,
  togglePanel,
} from '../../state/chat-pages.js';
import { t } from '../../state/language.js';
import { attempt } from '../../state/notices.js';
import { go, route } from '../../state/route.js';
import { ChatSettings } from './chat-settings.js';
import { Composer } from './composer.js';
import { Conversation } from './conversation.js';
import { History } from './history.js';
import { Shortcuts, ShortcutsAction, startChat } from './shortcuts.js';

export function ChatView() {
  const [id, message = null] = route.value?.rest ? route.value.rest.split('/') : [null];
  useEffect(() => followChatAddress(), []);
  useEffect(() => followModels(), []);
  useEffect(() => {
    // Also if it is the shown one: it replaces one that is being loaded.
    if (id != null) void attempt(() => openChat(id, message));
  }, [id, message]);
  if (!hasModels.value) return <NoModels />;
  return (
    <Page title={t('viewChat')} wide ownFocus actions={<ChatActions />}>
      <div class="chat">
        {panels.value.has('history') && <History />}
        <div class="chat-main">
          <div class={comparing.value ? 'conversations two' : 'conversations'}>
            {sessions.value.map((session, index) => (
              <Conversation
                key={index}
                session={session}
                name={t(index === 0 ? 'conversation' : 'secondConversation')}
                spoken={index === 0}
              />
            ))}
          </div>
          <Composer />
        </div>
        {panels.value.has('settings') && <ChatSettings />}
        <Shortcuts />
      </div>
    </Page>
  );
}

function NoModels() {
  return (
    <Page title={t('viewChat')}>
      <Empty title={t('noModelToChat')}>
        <p>{t('noModelToChatHelp')}</p>
        <Action label={t('findModel')} kind="primary" icon="search" run={() => go('search')} />
      </Empty>
    </Page>
  );
}

function ChatActions() {
  return (
    <>
      <IconAction
        label={t('history')}
        icon="history"
        pressed={panels.value.has('history')}
        run={() => togglePanel('history')}
      />
      <IconAction
        label={t('twoModels')}
        icon="compare"
        pressed={comparing.value}
        run={() => compare(!comparing.value)}
      />
      <IconAction
        label={t('chatSettings')}
        icon="panel"
        pressed={panels.value.has('settings')}
        run={() => togglePanel('settings')}
      />
      <ShortcutsAction />
      <Action label={t('newChat')} icon="plus" run={startChat} />
    </>
  );
}
