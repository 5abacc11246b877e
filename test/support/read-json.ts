/** A reply's body, for tests that look into it. */
// biome-ignore lint/suspicious/noExplicitAny: bodies of all routes, errors among them
export async function readJson(reply: Response): Promise<any> {
  return reply.json();
}
