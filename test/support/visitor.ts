/** A browser of few words: keeps cookies, sends forms as browsers do, and lets tests do what browsers would not. */
import { addOwner, PASSWORD, type TestDashboard } from './dashboard.js';

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  /** Target of a redirect, without the host. */
  location: string | null;
}

export class Visitor {
  readonly cookies = new Map<string, string>();
  /** Sent with every request beside what a browser sends. */
  headers: Record<string, string> = {};
  readonly #origin: string;

  constructor(
    readonly dashboard: TestDashboard,
    /** Origin of the page. */
    origin = dashboard.url,
  ) {
    this.#origin = origin;
  }

  /** A signed-in visitor with a password. */
  static async signedIn(dashboard: TestDashboard): Promise<Visitor> {
    const visitor = new Visitor(dashboard);
    addOwner(dashboard);
    await visitor.signIn();
    return visitor;
  }

  get(path: string): Promise<Reply> {
    return this.#request(path, { method: 'GET' });
  }

  /** Sends a form of the page `from`, with that page's token. */
  async send(path: string, fields: Record<string, string>, from: string): Promise<Reply> {
    const token = tokenIn((await this.get(from)).text);
    return this.post(path, { form_token: token, ...fields });
  }

  /** Sends exactly these fields, with headers that `headers` may replace or, by an empty text, take away. */
  post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Reply> {
    const own = { origin: this.#origin, 'sec-fetch-site': 'same-origin', ...headers };
    const sent = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== ''));
    return this.#request(path, { method: 'POST', body: new URLSearchParams(fields), headers: sent });
  }

  signIn(password = PASSWORD, name = 'owner'): Promise<Reply> {
    return this.send('/dashboard/sign-in', { name, password }, '/dashboard/sign-in');
  }

  async #request(path: string, init: RequestInit): Promise<Reply> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...this.headers, ...(cookie && { cookie }), ...(init.headers as Record<string, string>) };
    const reply = await fetch(this.dashboard.url + path, { ...init, headers, redirect: 'manual' });
    for (const line of reply.headers.getSetCookie()) this.#keep(line);
    return {
      status: reply.status,
      headers: reply.headers,
      text: await reply.text(),
      location: reply.headers.get('location'),
    };
  }

  #keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (/max-age=0/i.test(line)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

export function tokenIn(page: string): string {
  return /name="form_token" value="([\w-]+)"/.exec(page)?.[1] ?? 'no token in the page';
}
