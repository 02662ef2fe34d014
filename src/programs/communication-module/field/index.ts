export { createFieldBus, type FieldBus, type FieldBusOptions, type PortMapping } from './field-bus.ts';
export type { ModbusClient } from './modbus-client.ts';
export { faultNumber, faultText, type ModbusAnswer, type ModbusFault } from './modbus-fault.ts';
export type { ModbusRequest, ReadKind, WriteKind } from './modbus-pdu.ts';
export {
  characterMs,
  SerialFault,
  type SerialPort,
  type SerialSettings,
  type SerialTurn,
} from './serial-port.ts';
