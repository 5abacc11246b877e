/** Entry point of the desktop app's page. The URL fragment selects the view. */

import { render } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { Announcer } from './parts/announcer.js';
import { Navigation } from './parts/navigation.js';
import { Notices } from './parts/notices.js';
import { Boundary } from './parts/page.js';
import { connected, library, ready, refused } from './state/app.js';
import { followEvents } from './state/events.js';
import { startLanguage, t } from './state/language.js';
import { followAddress, replaceRoute, route } from './state/route.js';
import { viewOf } from './views/all-views.js';

function App() {
  return (
    <>
      <button type="button" class="skip" onClick={() => document.querySelector('main')?.focus()}>
        {t('skipToContent')}
      </button>
      <Navigation />
      <main id="main" tabIndex={-1}>
        {!connected.value && (
          <p class="offline" role="status">
            {refused.value ? t('sessionExpired') : t('appNotResponding')}
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
  useLayoutEffect(() => document.querySelector('main')?.scrollTo(0, 0), [view]);
  if (view) {
    const View = viewOf(view);
    return View ? <View /> : <p class="empty">{t('opening')}</p>;
  }
  // Without a model, start with the search.
  if (ready.value && library.value) {
    const own = library.value.some(({ source }) => source !== 'builtin');
    queueMicrotask(() => replaceRoute(own ? 'chat' : 'search'));
  }
  return <p class="empty">{t('opening')}</p>;
}

// The browser would open a dropped file in place of the app.
for (const name of ['dragover', 'drop']) addEventListener(name, (event) => event.preventDefault());
await startLanguage();
followAddress();
followEvents();
const place = document.getElementById('app') as HTMLElement;
place.replaceChildren();
render(<App />, place);
