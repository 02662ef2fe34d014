import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announce, type AnnouncedPorts, createAnnouncement } from '../../src/gateway/servers.ts';
import { type Config, loadConfig } from '../../src/platform/config/index.ts';
import type { AnnouncedService, Mdns } from '../../src/platform/mdns/index.ts';
import { TestClock } from '../support/test-clock.ts';
import { recordingLog } from '../support/workspace.ts';

const PORTS = { httpPort: 8_080, httpsPort: 8_443, mqttPort: 1_883, mqttsPort: 8_883 };

/** What is announced at an address with these options, as `type port`. */
function announcedAt(
  address: string,
  environment: Record<string, string>,
  ports: AnnouncedPorts = PORTS,
): string[] {
  let servicesAt: (address: string) => readonly AnnouncedService[] = () => [];
  const mdns: Pick<Mdns, 'start' | 'stop'> = {
    start: (services) => (servicesAt = services),
    stop: () => undefined,
  };
  announce(mdns, configOf(environment), ports, () => undefined);
  return servicesAt(address).map(({ type, port }) => `${type} ${port}`);
}

function configOf(environment: Record<string, string>): Config {
  return loadConfig({ environment, file: undefined });
}

test('nothing is announced without a listener, nor HTTP that only the machine itself may use', () => {
  const loopback = { GATEWAY_HTTP_HOST: '127.0.0.1', GATEWAY_MQTT_HOST: '127.0.0.1' };
  assert.deepEqual(announcedAt('10.0.0.1', loopback), []);
  const others = ['_https._tcp 8443', '_mqtt._tcp 1883', '_secure-mqtt._tcp 8883'];
  assert.deepEqual(announcedAt('10.0.0.1', { GATEWAY_HTTP: 'false' }), others);
  const withoutTls = { ...PORTS, httpsPort: undefined, mqttsPort: undefined };
  assert.deepEqual(announcedAt('10.0.0.1', {}, withoutTls), ['_http._tcp 8080', '_mqtt._tcp 1883']);
});

test('a listener at one address is announced on that network only', () => {
  const environment = { GATEWAY_HTTP_HOST: '10.0.0.1' };
  assert.equal(announcedAt('10.0.0.1', environment).length, 4);
  assert.deepEqual(announcedAt('10.1.0.1', environment), ['_mqtt._tcp 1883', '_secure-mqtt._tcp 8883']);
  assert.equal(announcedAt('10.1.0.1', { GATEWAY_HTTP_HOST: '::', GATEWAY_MQTT_HOST: '::0' }).length, 4);
});

test('the option turns the announcement off, and gives the name', () => {
  const clock = new TestClock();
  const { log } = recordingLog(clock);
  const named = (environment: Record<string, string>): string | undefined =>
    createAnnouncement({ config: configOf(environment), clock, log, version: '0' })?.hostName;
  assert.equal(named({ GATEWAY_MDNS: 'false' }), undefined);
  assert.equal(named({}), 'energy-gateway.local');
  assert.equal(named({ GATEWAY_MDNS_NAME: 'plant-7' }), 'plant-7.local');
});
