/** What `mqtt-load.ts` is told. */
export interface MqttLoad {
  port: number;
  connections: number;
  /** Multiple of half the window. */
  messagesPerConnection: number;
  /** Messages sent and not yet acknowledged, per connection; even. */
  window: number;
  payloadBytes: number;
}
