/** What a script sees of each kind: its number (docs/interface/lua-devices.md#older-interface), and what precedes the text. */
const KINDS = {
  timeout: { number: 1, prefix: '' },
  connection_failed: { number: 2, prefix: 'connection failed: ' },
  /** More requests wait for a serial port than the limit. */
  overloaded: { number: 2, prefix: 'connection failed: ' },
  invalid_argument: { number: 3, prefix: '' },
  not_supported: { number: 5, prefix: '' },
  /** More frames wait for a bus than the limit. */
  too_many_frames: { number: 7, prefix: '' },
} as const;

/** A fault with the text and number of the device API. */
export interface ScriptFault {
  text: string;
  number: number;
}

/** Why a port of the module could not be used; `message` is for people. */
export class PortFault extends Error {
  readonly kind: keyof typeof KINDS;
  constructor(kind: PortFault['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'PortFault';
    this.kind = kind;
  }

  /** As a script sees it. */
  get ofScript(): ScriptFault {
    const { number, prefix } = KINDS[this.kind];
    return { text: prefix + this.message, number };
  }
}
