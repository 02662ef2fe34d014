/** Differences between two texts, line by line. Pure. */

interface LineChange {
  /** `-`: only in the first; `+`: only in the second. */
  sign: '-' | '+' | ' ';
  line: string;
}

/** Unchanged lines that are shown around a change. */
const AROUND = 3;
/** Changed lines that are compared one by one; with more, all of the first come before all of the second. */
const COMPARED = 2_000;

/** Changed lines with those around them; `…` stands for what is left out. Empty: the texts are equal. */
export function lineChanges(first: string, second: string): LineChange[] {
  const [before, after] = [first.split('\n'), second.split('\n')];
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < Math.min(before.length, after.length) - head && before.at(-1 - tail) === after.at(-1 - tail))
    tail++;
  const same = (lines: readonly string[]): LineChange[] => lines.map((line) => ({ sign: ' ', line }));
  const all = [
    ...same(before.slice(0, head)),
    ...changesBetween(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ];
  const isNear = (index: number): boolean =>
    all.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ sign }) => sign !== ' ');
  const near = all.map((_, index) => isNear(index));
  return all.flatMap((change, index): LineChange[] => {
    if (near[index]) return [change];
    return index > 0 && near[index - 1] ? [{ sign: ' ', line: '…' }] : [];
  });
}

/** By the longest common sequence of lines. */
function changesBetween(before: readonly string[], after: readonly string[]): LineChange[] {
  const only = (sign: '-' | '+', lines: readonly string[]): LineChange[] =>
    lines.map((line) => ({ sign, line }));
  if (before.length + after.length > COMPARED) return [...only('-', before), ...only('+', after)];
  const width = after.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  for (let row = before.length - 1; row >= 0; row--)
    for (let column = after.length - 1; column >= 0; column--)
      lengths[row * width + column] =
        before[row] === after[column]
          ? (lengths[(row + 1) * width + column + 1] ?? 0) + 1
          : Math.max(lengths[(row + 1) * width + column] ?? 0, lengths[row * width + column + 1] ?? 0);
  const changes: LineChange[] = [];
  let [row, column] = [0, 0];
  while (row < before.length && column < after.length) {
    const [old = '', fresh = ''] = [before[row], after[column]];
    if (old === fresh) {
      changes.push({ sign: ' ', line: old });
      row++;
      column++;
    } else if ((lengths[(row + 1) * width + column] ?? 0) >= (lengths[row * width + column + 1] ?? 0)) {
      changes.push({ sign: '-', line: old });
      row++;
    } else {
      changes.push({ sign: '+', line: fresh });
      column++;
    }
  }
  return [...changes, ...only('-', before.slice(row)), ...only('+', after.slice(column))];
}
