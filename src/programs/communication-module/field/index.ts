export { noPort } from './connection-uri.ts';
export { FieldBus, type PortMapping, type Visit } from './field-bus.ts';
export { CanMailbox } from './can-mailbox.ts';
export type { Quantity } from './analog-input.ts';
export type { CanBus } from './can-bus.ts';
export type { IoKind, IoPortMapping } from './io-ports.ts';
export type { ModbusClient } from './modbus-tcp.ts';
export { faultNumber, faultText, type ModbusAnswer, type ModbusFault } from './modbus-fault.ts';
export type { ModbusRequest, ReadKind, WriteKind } from './modbus-pdu.ts';
export { PortFault } from './port-fault.ts';
export {
  characterMs,
  SerialFault,
  type SerialPort,
  type SerialSettings,
  type SerialTurn,
} from './serial-port.ts';
