/** How many lines each room of `src` has, and which have more than they may. */

/** Folders whose folders are rooms of their own. */
const GROUPS = ['capabilities', 'platform'];

/** A house, or one capability or part of the platform; `(top)` for files beside them. */
function roomOf(path: string): string {
  const [first = '', second = '', ...rest] = path.replace(/^src\//, '').split('/');
  if (second === '') return '(top)';
  return GROUPS.includes(first) && rest.length > 0 ? `${first}/${second}` : first;
}

/** A sentence for each room that is larger than its budget, or has none. */
export function overBudget(
  files: readonly { path: string; lines: number }[],
  budgets: Readonly<Record<string, number>>,
): string[] {
  const sizes = new Map<string, number>();
  for (const { path, lines } of files) sizes.set(roomOf(path), (sizes.get(roomOf(path)) ?? 0) + lines);
  return [...sizes].flatMap(([room, lines]) => {
    const budget = budgets[room];
    if (budget === undefined)
      return `src/${room} has ${lines} lines and no budget: give it a line in test/support/line-budgets.ts, and say in docs/decisions what it is for`;
    return lines <= budget
      ? []
      : `src/${room} has ${lines} lines, its budget is ${budget}: take something out; a budget in test/support/line-budgets.ts is raised only together with a page in docs/decisions`;
  });
}
