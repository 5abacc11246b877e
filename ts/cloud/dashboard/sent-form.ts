/** More than any form of the dashboard needs. */
export const FORM_LIMIT = 16 * 1024;

export class SentForm {
  readonly #fields: URLSearchParams;

  constructor(body: unknown) {
    this.#fields = body instanceof URLSearchParams ? body : new URLSearchParams();
  }

  /** Untrimmed. */
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
