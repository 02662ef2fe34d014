import type { DurationMs } from '../../../lib/time.ts';
import type { ModbusAnswer } from './modbus-fault.ts';
import type { ModbusRequest } from './modbus-pdu.ts';

/** One address or serial line, shared by everyone who names it. */
export interface ModbusClient {
  /**
   * Sends a request; never rejects and never takes longer than its limit by much: on TCP `timeoutMs` counts
   * from the call, on a serial line from the moment the line is free. Nothing is sent twice, and nothing that is not
   * wanted any more when its turn comes.
   */
  request(
    unitId: number,
    request: ModbusRequest,
    timeoutMs?: DurationMs,
    isWanted?: () => boolean,
  ): Promise<ModbusAnswer>;
  /** Fails what waits, lets go of the connection. The client may be used again. */
  close(): void;
}
