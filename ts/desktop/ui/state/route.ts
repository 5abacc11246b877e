/** Which view is shown: the fragment of the address, `#/chat/<id>`, so that back, forward and bookmarks work. */
import { signal } from '@preact/signals';

export const VIEWS = ['search', 'downloads', 'models', 'chat', 'developer', 'settings'] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  view: View;
  /** What follows the view's name: a chat, or a model of the hub. */
  rest: string;
}

export const route = signal<Route | undefined>(undefined);

export function followAddress(): void {
  addEventListener('hashchange', read);
  read();
}

function read(): void {
  const [, name, rest = ''] = /^#\/([a-z]+)(?:\/(.*))?$/.exec(location.hash) ?? [];
  const view = VIEWS.find((each) => each === name);
  route.value = view && { view, rest: decodeURIComponent(rest) };
}

export function linkTo(view: View, rest = ''): string {
  return `#/${view}${rest && `/${rest.split('/').map(encodeURIComponent).join('/')}`}`;
}

export function go(view: View, rest = ''): void {
  location.hash = linkTo(view, rest);
}

/** Without an entry in the history: for views that choose what they show. */
export function replaceRoute(view: View, rest = ''): void {
  history.replaceState(null, '', linkTo(view, rest));
  read();
}
