/** Search by words. Pure. */

/** Each word of what was typed is in it. */
export const matchesSearch = (title: string, text: string): boolean =>
  text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => title.toLowerCase().includes(word));
