/** Which commands are used daily. Pure. */
import type { Command } from '../shapes.ts';

/** Whether it is used daily, as its blueprint says. */
export function isQuick(command: Command): boolean {
  const { quick_access: isQuickHere, mobile_quick_access: isQuickOnPhones } = (command['ui'] ?? {}) as Record<
    string,
    unknown
  >;
  return isQuickHere === true || isQuickOnPhones === true;
}
