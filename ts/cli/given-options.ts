type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** The options that were given on the command line, without the names of those that were not. */
export function givenOptions<T extends object>(options: T): Given<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>;
}
