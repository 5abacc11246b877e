/** An API key in the fragment of an address. Browsers send fragments to no server. */

export function addressWithKey(address: string, key: string): string {
  return `${address}/#${new URLSearchParams({ key })}`;
}

/** Returns null if the fragment has no key. */
export function keyIn(fragment: string): string | null {
  return new URLSearchParams(fragment.replace(/^#/, '')).get('key');
}
