/** Why a port of the module could not be used; `message` is for people. */
export class PortFault extends Error {
  readonly kind: 'connection_failed' | 'invalid_argument' | 'not_supported' | 'overloaded';
  constructor(kind: PortFault['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'PortFault';
    this.kind = kind;
  }
}
