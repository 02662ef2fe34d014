/** What every module in `scripts/bench/` exports as `benchmark`. */
export interface Benchmark<Parameters = Readonly<Record<string, number>>> {
  /** On the command line; the file has the same name. */
  name: string;
  /** One sentence: what is measured. */
  describe: string;
  /** So little work that it ends within seconds; run with the tests, so that the benchmark cannot rot. */
  small: Parameters;
  large: Parameters;
  /** Parameters that each stand for a part of the work, and leave it out at 0. */
  parts?: readonly string[];
  /** What is measured runs as a program of its own: only that is put onto a small board (`--board`). */
  isApart?: true;
  /** Where random input begins; absent: nothing is random. */
  seed?: number;
  /**
   * Does the work and reports figures. Resolves with a checksum over results (not times): the same on every
   * machine, it shows that the work was really done. Without results that can repeat: undefined.
   */
  run: (parameters: Parameters, report: Report) => Promise<string | undefined>;
}

/** One figure with its unit: `ms`, `rows/s`, `bytes`, `MiB`. */
export type Report = (label: string, value: number | string, unit?: string) => void;
