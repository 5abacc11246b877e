/** What a browser sends when a form is submitted. */

/** No form of the dashboard has more to say. */
export const FORM_LIMIT = 16 * 1024;

export class SentForm {
  readonly #fields: URLSearchParams;

  constructor(body: unknown) {
    this.#fields = body instanceof URLSearchParams ? body : new URLSearchParams();
  }

  /** As it was typed. */
  exact(name: string): string {
    return this.#fields.get(name) ?? '';
  }

  text(name: string): string {
    return this.exact(name).trim();
  }

  all(name: string): string[] {
    return this.#fields.getAll(name);
  }
}
