/**
 * The line of a client of a broker, over TCP or TLS. Opened here, because the library's own way loads WebSockets, HTTP and
 * proxies first, which nobody here uses: a sixth of the memory of a communication module.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';

/** Where a client connects, beside the options of the library. */
export interface LineOptions extends IClientOptions {
  protocol: 'mqtt' | 'mqtts';
  host: string;
  port: number;
  /** Check of the server's name in TLS; default: the certificate must be for the host. */
  checkServerIdentity?: () => undefined;
}

/**
 * @param watch gets each piece that arrives, before the library does
 * @throws Error for certificates that cannot be read
 */
export function openLine(
  options: LineOptions,
  watch?: (bytes: Uint8Array, client: MqttClient) => void,
): MqttClient {
  const { protocol, host, port } = options;
  const open = (self: MqttClient): Socket => {
    const line = protocol === 'mqtts' ? overTls(options, self) : connectTcp({ host, port });
    // Without it, data behind an acknowledgement, such as the answer to a command, would wait 40 ms for TCP to
    // acknowledge that.
    line.setNoDelay();
    // Before the library, which gathers a packet until it is whole.
    if (watch) line.on('data', (bytes: Buffer) => watch(bytes, self));
    return line;
  };
  // Without it, the library makes a buffer for each number of two bytes with the first packet: 65 536 of them, 8 MB.
  const client = new mqtt.MqttClient(open, { ...options, writeCache: false });
  // Other listeners get it, too; without any the library would throw.
  client.on('error', () => undefined);
  return client;
}

/** The library ignores errors until the line is encrypted. */
function overTls(options: LineOptions, client: MqttClient): Socket {
  const { host } = options;
  // Loaded only where it is needed: 6 MB.
  const { connect } = process.getBuiltinModule('node:tls');
  const line = connect({ ...options, ...(isIP(host) === 0 && { servername: host }) } as object);
  const fail = (error: Error): void => {
    client.emit('error', error);
    line.end();
  };
  line.on('error', fail);
  line.once('secureConnect', () => line.off('error', fail));
  return line;
}
