/**
 * One output line of a GPIO chip of the system. The system keeps a level for as long as somebody holds the line, so a
 * `gpioset` of gpiod holds it, another one for each new level.
 */
import { DoublingPause } from '../../lib/doubling-pause.ts';
import { messageOf } from '../../lib/errors.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Timer } from '../../platform/clock/index.ts';
import { PortFault } from './modbus-fault.ts';
import type { PortOptions, RunningProgram } from './system-program.ts';

interface DigitalOutputOptions extends PortOptions {
  /** Device file of the chip, such as /dev/gpiochip0. */
  chip: string;
  line: number;
  /** On is the low level. */
  isActiveLow: boolean;
}

/** One that is going on. */
interface Impulse {
  /** Whether it goes back to on. */
  before: boolean;
  end: Timer;
}

export class DigitalOutput {
  readonly #options: DigitalOutputOptions;
  readonly #pause: DoublingPause;
  #holder: { program: RunningProgram; isOn: boolean } | undefined;
  /** Level after the last completed change; undefined: there was none. */
  #kept: boolean | undefined;
  #impulse: Impulse | undefined;
  /** Runs while no program holds the line, to set the kept level again. */
  #again: Timer | undefined;
  /** One change after another. */
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: DigitalOutputOptions) {
    this.#options = options;
    const { reconnectFirstMs, reconnectMaxMs } = options.limits;
    this.#pause = new DoublingPause({ firstMs: reconnectFirstMs, maxMs: reconnectMaxMs });
  }

  /**
   * Ends an impulse that is going on. What is not wanted any more in its turn is not carried out; after a fault the output
   * is as before.
   * @throws PortFault connection_failed
   */
  set(isOn: boolean, isWanted?: () => boolean): Promise<void> {
    return this.#inTurn(async () => {
      await this.#hold(isOn);
      this.#forgetImpulse();
    }, isWanted);
  }

  /** Whether it is on; before it was set for the first time, as the line is. @throws PortFault connection_failed */
  isOn(): Promise<boolean> {
    return this.#inTurn(() => this.#read());
  }

  /**
   * The other level for so long, then the one before; resolves as soon as it has begun. During another one it is that
   * one which lasts so long from now. @throws PortFault as above
   */
  impulse(durationMs: DurationMs, isWanted?: () => boolean): Promise<void> {
    return this.#inTurn(async () => {
      const before = this.#impulse?.before ?? this.#kept ?? (await this.#read());
      await this.#hold(!before);
      this.#forgetImpulse();
      this.#endAfter(durationMs, before);
    }, isWanted);
  }

  /** Ends a running impulse, which could not end later. Resolves when the line is released. */
  async close(): Promise<void> {
    // `onFailed` has the reason; the output stays as it is.
    await this.#inTurn(() => this.#endImpulse()).catch(() => undefined);
    this.#isClosed = true;
    this.#again?.cancel();
    await this.#release();
  }

  #inTurn<T>(change: () => Promise<T>, isWanted?: () => boolean): Promise<T> {
    const turn = this.#last.then(() => {
      if (isWanted?.() === false) throw new PortFault('connection_failed', 'it has waited too long');
      return change();
    });
    // The next change does not care how this one ended.
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #forgetImpulse(): void {
    this.#impulse?.end.cancel();
    this.#impulse = undefined;
  }

  async #endImpulse(): Promise<void> {
    const impulse = this.#impulse;
    this.#forgetImpulse();
    if (impulse === undefined) return;
    // Where that fails it is tried again: a line that stays switched is worse.
    this.#kept = impulse.before;
    await this.#hold(impulse.before);
  }

  #endAfter(durationMs: DurationMs, before: boolean): void {
    const goBack = async (): Promise<void> => {
      // Somebody has set the line since.
      if (this.#impulse !== impulse) return;
      await this.#orTold(this.#endImpulse());
    };
    const impulse = {
      before,
      end: this.#options.clock.setTimer(durationMs, () => void this.#inTurn(goBack)),
    };
    this.#impulse = impulse;
  }

  /** Failures go to `onFailed`. */
  async #orTold(change: Promise<void>): Promise<void> {
    try {
      await change;
    } catch (error) {
      if (!(error instanceof PortFault)) throw error;
    }
  }

  async #read(): Promise<boolean> {
    if (this.#holder) return this.#holder.isOn;
    const { programs, limits } = this.#options;
    // As it is: to ask for the level must not make an input of it.
    const args = ['--as-is', '--numeric', ...this.#place(), String(this.#options.line)];
    try {
      const said = await programs.run('gpioget', args, { timeoutMs: limits.programMs });
      const level = said.trim();
      if (level !== '0' && level !== '1') throw new Error(`gpioget said ${level}`);
      return level === '1';
    } catch (error) {
      this.#options.onFailed(messageOf(error));
      throw new PortFault('connection_failed', messageOf(error), error);
    }
  }

  /** Holds the line again after its program ended, when its level is undefined. */
  #holdAgain(): void {
    const hold = async (): Promise<void> => {
      if (this.#holder === undefined && this.#kept !== undefined) await this.#orTold(this.#hold(this.#kept));
    };
    this.#again = this.#options.clock.setTimer(this.#pause.next(), () => void this.#inTurn(hold));
  }

  async #hold(isOn: boolean): Promise<void> {
    if (this.#holder?.isOn === isOn) return;
    this.#again?.cancel();
    await this.#release();
    if (this.#isClosed) throw new PortFault('connection_failed', 'closed');
    const { programs, line, clock, limits } = this.#options;
    const args = ['--banner', ...this.#place(), `${line}=${isOn ? 1 : 0}`];
    try {
      await new Promise<void>((resolve, reject) => {
        const program = programs.start('gpioset', args, () => {
          limit.cancel();
          resolve();
        });
        // A chip behind a bus may not answer, and other users wait for their turn.
        const limit = clock.setTimer(limits.programMs, () => program.stop());
        const holder = { program, isOn };
        this.#holder = holder;
        void program.ended.then((reason) => {
          limit.cancel();
          reject(new Error(reason));
          if (this.#holder !== holder) return;
          this.#holder = undefined;
          this.#options.onFailed(reason);
          this.#holdAgain();
        });
      });
      this.#kept = isOn;
      this.#pause.reset();
      this.#options.onWorking();
    } catch (error) {
      throw new PortFault('connection_failed', messageOf(error), error);
    }
  }

  async #release(): Promise<void> {
    const holder = this.#holder;
    this.#holder = undefined;
    holder?.program.stop();
    await holder?.program.ended;
  }

  #place(): string[] {
    const { chip, isActiveLow } = this.#options;
    return [...(isActiveLow ? ['--active-low'] : []), '--chip', chip];
  }
}
