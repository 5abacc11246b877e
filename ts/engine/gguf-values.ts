/** The types of a GGUF file's values, by their numbers there. */
export const TEXT = 8;
export const LIST = 9;

/** How many bytes a value of each type has; texts and lists say it themselves. */
export const VALUE_BYTES: Readonly<Record<number, number>> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
};
