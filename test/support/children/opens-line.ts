/** Opens a line to a port of this machine and writes what the runtime has loaded by its end. */
import { loadLine } from '../../../src/platform/mqtt-client/index.ts';

const { openLine } = await loadLine();
const client = openLine({
  protocol: 'mqtt',
  host: '127.0.0.1',
  port: Number(process.argv[2]),
  reconnectPeriod: 0,
});
client.once('close', () => {
  client.end(true);
  process.stdout.write((process as unknown as { moduleLoadList: string[] }).moduleLoadList.join('\n'));
});
