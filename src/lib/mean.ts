/** The mean of numbers of which the sum, the least and the greatest are known. Pure. */

/**
 * The rounding of a sum can carry its mean beyond the numbers themselves; the mean of equal numbers is that number exactly.
 */
export function meanOf(sum: number, count: number, least: number, greatest: number): number {
  return Math.max(least, Math.min(greatest, sum / count));
}
