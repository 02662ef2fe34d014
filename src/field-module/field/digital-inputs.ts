/**
 * Inputs of one GPIO chip of the system, watched by one `gpiomon` of gpiod from the first use on: levels, and edges for
 * the counters.
 */
import { messageOf } from '../../lib/errors.ts';
import type { DurationMs } from '../../lib/time.ts';
import { PortFault } from './modbus-fault.ts';
import { RetryPause } from './turn-queue.ts';
import type { PortOptions, RunningProgram } from './system-program.ts';

/** Settings shared by all inputs of one watch. */
interface InputWiring {
  /** Device file, such as /dev/gpiochip0. */
  chip: string;
  /** Undefined: as it is. */
  bias: 'disabled' | 'pull-up' | 'pull-down' | undefined;
  debounceMs: DurationMs;
}

interface DigitalInputsOptions extends PortOptions {
  wiring: InputWiring;
  /** Numbers of the lines. */
  lines: readonly number[];
}

interface Line {
  isHigh: boolean;
  /** Counted since the module started, for all scripts together. */
  rises: number;
  falls: number;
}

export class DigitalInputs {
  readonly #options: DigitalInputsOptions;
  readonly #pause: RetryPause;
  readonly #lines: ReadonlyMap<number, Line>;
  #watch: RunningProgram | undefined;
  #starting: Promise<void> | undefined;
  #lastFailure = '';
  #isClosed = false;

  constructor(options: DigitalInputsOptions) {
    this.#options = options;
    this.#pause = new RetryPause(options.limits);
    this.#lines = new Map(options.lines.map((line) => [line, { isHigh: false, rises: 0, falls: 0 }]));
  }

  /** Level of the line, and its edges so far. @throws PortFault connection_failed */
  async read(line: number): Promise<Readonly<Line>> {
    await this.#ready();
    const known = this.#lines.get(line);
    if (known === undefined) throw new PortFault('not_supported', 'the line is not watched');
    return known;
  }

  close(): void {
    this.#isClosed = true;
    const watch = this.#watch;
    this.#watch = undefined;
    watch?.stop();
  }

  async #ready(): Promise<void> {
    if (this.#watch !== undefined && this.#starting === undefined) return;
    if (this.#pause.isResting(this.#options.clock.monotonicMs()))
      throw new PortFault('connection_failed', this.#lastFailure);
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    await this.#starting;
  }

  async #start(): Promise<void> {
    try {
      await this.#readLevels();
      await this.#follow();
      this.#pause.succeeded();
      this.#options.onWorking();
    } catch (error) {
      this.#fail(messageOf(error));
      throw new PortFault('connection_failed', this.#lastFailure, error);
    }
  }

  #fail(reason: string): void {
    this.#lastFailure = reason;
    this.#pause.failed(this.#options.clock.monotonicMs());
    if (!this.#isClosed) this.#options.onFailed(reason);
  }

  /** A watched line belongs to its watch alone, so this comes before. */
  async #readLevels(): Promise<void> {
    const { programs, wiring, limits } = this.#options;
    const args = ['--numeric', ...biasOption(wiring), '--chip', wiring.chip, ...this.#names()];
    const said = await programs.run('gpioget', args, { timeoutMs: limits.programMs });
    const levels = said.trim().split(/\s+/);
    if (levels.length !== this.#lines.size || levels.some((level) => level !== '0' && level !== '1'))
      throw new Error(`gpioget said ${said.trim()}`);
    for (const [index, line] of [...this.#lines.values()].entries()) line.isHigh = levels[index] === '1';
  }

  /** Resolves when the lines are watched. */
  #follow(): Promise<void> {
    const { programs, wiring, clock, limits } = this.#options;
    const { chip, debounceMs } = wiring;
    return new Promise((resolve, reject) => {
      const debounce = debounceMs > 0 ? ['--debounce-period', `${debounceMs}ms`] : [];
      const args = ['--banner', '--format', '%o %e', ...biasOption(wiring), ...debounce, '--chip', chip];
      const watch = programs.start('gpiomon', [...args, ...this.#names()], (said) => {
        if (said.startsWith('Monitoring ')) {
          limit.cancel();
          return resolve();
        }
        const [line = '', edge = ''] = said.split(' ');
        this.#take(Number(line), edge);
      });
      this.#watch = watch;
      const limit = clock.setTimer(limits.programMs, () => watch.stop());
      void watch.ended.then((reason) => {
        limit.cancel();
        reject(new Error(reason));
        if (this.#watch !== watch) return;
        this.#watch = undefined;
        // While it starts, the caller that waits for the start reports the fault.
        if (this.#starting === undefined) this.#fail(reason);
      });
    });
  }

  #take(number: number, edge: string): void {
    const line = this.#lines.get(number);
    if (line === undefined) return;
    if (edge === RISING) line.rises += 1;
    else if (edge === FALLING) line.falls += 1;
    else return;
    line.isHigh = edge === RISING;
  }

  #names(): string[] {
    return [...this.#lines.keys()].map(String);
  }
}

/** As `%e` of gpiomon. */
const RISING = '1';
const FALLING = '2';

function biasOption({ bias }: InputWiring): string[] {
  return bias === undefined ? [] : ['--bias', bias];
}
