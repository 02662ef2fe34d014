/** How many times property tests try: few between two thoughts, many when somebody looks for what few do not find. */

/** Factor of `npm test -- --runs FACTOR`. */
const FACTOR = Number(process.env['TEST_RUNS_FACTOR'] ?? 1);

/** Another start of chance for who looks for more; the usual runs try the same each time. */
export const chance = (): { seed?: number } => (FACTOR === 1 ? { seed: 20_261_128 } : {});

/** The usual number, times the factor of this run. */
export const runs = (usual: number): number => Math.max(1, Math.round(usual * FACTOR));
