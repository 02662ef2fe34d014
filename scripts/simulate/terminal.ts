/** Lines on the terminal, and one status line that is rewritten in place where that is possible. */

export interface Terminal {
  line(text: string): void;
  status(text: string): void;
  /** Leaves the last status standing. */
  close(): void;
}

/** The part of a stream that is needed; `columns` is known on a terminal only. */
export interface Output {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

const ERASE_LINE = '\r\u001B[2K';

export function createTerminal(output: Output): Terminal {
  let shown = '';
  const draw = (): void => void output.write(ERASE_LINE + shown.slice(0, (output.columns ?? 80) - 1));
  return {
    line: (text) => {
      if (output.isTTY) output.write(ERASE_LINE);
      output.write(`${text}\n`);
      if (output.isTTY) draw();
    },
    status: (text) => {
      shown = text;
      if (output.isTTY) draw();
      else output.write(`${text}\n`);
    },
    close: () => {
      if (output.isTTY && shown) output.write('\n');
    },
  };
}
