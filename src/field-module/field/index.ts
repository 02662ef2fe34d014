export { noPort } from './connection-uri.ts';
export { FieldBus, type PortMapping, type Visit } from './field-bus.ts';
export { type CanBus, CanMailbox } from './can-bus.ts';
export { type BrokerOptions, MqttConnection, MqttMailbox, type MqttSubscriber } from './mqtt-connection.ts';
export type { Quantity } from './analog-input.ts';
export { type DeviceIdentification, identifyDevice, textOf } from './device-identification.ts';
export type { IoKind, IoPortMapping } from './io-ports.ts';
export type { ModbusClient } from './modbus-tcp.ts';
export {
  isUnreached,
  type ModbusAnswer,
  PortFault,
  type ScriptFault,
  scriptFaultOf,
} from './modbus-fault.ts';
export type { OnBytes } from './modbus-tcp-connection.ts';
export type { ModbusRequest, ReadKind, WriteKind } from './modbus-pdu.ts';
export { characterMs, type SerialPort, type SerialSettings, type SerialTurn } from './serial-port.ts';
