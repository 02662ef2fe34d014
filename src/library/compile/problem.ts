/** A mistake in a template: where it stands, and what to do about it. */
export interface TemplateProblem {
  /** Keys from the top: `['values', 'total_power', 'as']`. */
  path: readonly (string | number)[];
  message: string;
}

/** Thrown by the compiler with every mistake that it found. */
export class TemplateError extends Error {
  readonly problems: readonly TemplateProblem[];

  constructor(problems: readonly TemplateProblem[]) {
    super(problems.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'));
    this.problems = problems;
  }
}
