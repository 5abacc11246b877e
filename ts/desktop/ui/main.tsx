/** The pages of the desktop app: one page, whose views the address chooses. */
import { render } from 'preact';
import { Announcer } from './parts/announcer.js';
import { Boundary } from './parts/boundary.js';
import { Navigation } from './parts/navigation.js';
import { Notices } from './parts/notices.js';
import { applyStoredTheme, connected, library, ready } from './state/app.js';
import { followEvents } from './state/events.js';
import { followAddress, replaceRoute, route, type View } from './state/route.js';
import { ChatView } from './views/chat/chat-view.js';
import { DeveloperView } from './views/developer/developer-view.js';
import { DownloadsView } from './views/downloads-view.js';
import { ModelsView } from './views/models/models-view.js';
import { SearchView } from './views/search/search-view.js';
import { SettingsView } from './views/settings-view.js';

const views: Record<View, () => preact.ComponentChild> = {
  search: () => <SearchView />,
  downloads: () => <DownloadsView />,
  models: () => <ModelsView />,
  chat: () => <ChatView />,
  developer: () => <DeveloperView />,
  settings: () => <SettingsView />,
};

function App() {
  return (
    <>
      <button type="button" class="skip" onClick={() => document.querySelector('main')?.focus()}>
        Skip to the content
      </button>
      <Navigation />
      <main id="main" tabIndex={-1}>
        {!connected.value && (
          <p class="offline" role="status">
            The app does not reply. It is tried again every two seconds; what you see may be old.
          </p>
        )}
        <Boundary name={route.value?.view ?? ''}>
          <CurrentView />
        </Boundary>
      </main>
      <Notices />
      <Announcer />
    </>
  );
}

function CurrentView() {
  const view = route.value?.view;
  if (view) return <>{views[view]()}</>;
  // Somebody who has no model yet starts where models are found.
  if (ready.value && library.value) {
    const own = library.value.some(({ source }) => source !== 'builtin');
    queueMicrotask(() => replaceRoute(own ? 'chat' : 'search'));
  }
  return <p class="empty">Opening …</p>;
}

applyStoredTheme();
followAddress();
followEvents();
render(<App />, document.getElementById('app') as HTMLElement);
