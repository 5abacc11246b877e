/** Routing by URL fragment, `#/chat/<id>`. */
import { signal } from '@preact/signals';

export const VIEWS = ['search', 'downloads', 'models', 'chat', 'developer', 'settings'] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  view: View;
  /** The rest of the path: a chat id or a hub model. */
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

export function replaceRoute(view: View, rest = ''): void {
  history.replaceState(null, '', linkTo(view, rest));
  read();
}
