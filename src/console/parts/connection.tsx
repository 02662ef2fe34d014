/** The connection configuration of a device. It is shown only once, so it can be saved as a file. */
import { useState } from 'preact/hooks';
import { Button, InputField, Notice } from '../ui.tsx';
import { Code, CopyButton, download, Fact } from '../ui/page-components.tsx';
import { encodeScript } from '../script-text.ts';
import type { ConnectionConfiguration } from '../shapes.ts';
import { say } from '../words/later.ts';

/** How a device may connect. */
export const PROTOCOLS = [
  { value: 'MQTT', text: say.devices.reachedBy.MQTT_V1_PLAINTEXT },
  { value: 'MQTTS', text: say.devices.reachedBy.MQTT_V1_TLS },
] as const;

/** Hosts that no other machine can reach. */
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/;

export function Connection({
  config: given,
  slug,
  isModule = false,
}: {
  config: ConnectionConfiguration;
  slug: string;
  isModule?: boolean;
}) {
  const isLoopback = LOOPBACK.test(given.mqtt_host);
  const [host, setHost] = useState(given.mqtt_host);
  const config = {
    ...given,
    mqtt_host: host,
    ...(given.time_sync_host === given.mqtt_host && { time_sync_host: host }),
  };
  const { mqtt_credentials: credentials } = config;
  return (
    <div data-test="connection">
      <Notice kind="warning">{say.adding.keepItNow}</Notice>
      {isLoopback && (
        <InputField
          label={say.adding.gatewayAddress}
          hint={say.adding.gatewayAddressHint}
          value={host}
          onValue={setHost}
          name="reachable_host"
          required
          spellcheck={false}
        />
      )}
      <dl class="facts">
        <Fact name={say.everywhere.address}>
          {config.mqtt_protocol === 'MQTTS' ? 'mqtts' : 'mqtt'}://{config.mqtt_host}:{config.mqtt_port}
        </Fact>
        <Fact name={say.everywhere.hardwareId}>
          <code>{config.hardware_id}</code>
        </Fact>
        {'username' in credentials && (
          <Fact name={say.everywhere.password}>
            <code>{credentials.password}</code>
          </Fact>
        )}
      </dl>
      <Files config={config} slug={slug} />
      {isModule ? (
        <>
          <h3>{say.adding.startElsewhere}</h3>
          <p class="hint">{say.adding.startElsewhereHint}</p>
          <Code text={packagedModule(slug)} />
          <p class="hint">{say.adding.startFromSources}</p>
          <Code text={`npm run module -- --config ${slug}.json`} />
        </>
      ) : (
        <>
          <h3>{say.adding.tryMosquitto}</h3>
          <p class="hint">{say.adding.tryMosquittoHint}</p>
          <Code text={mosquittoLine(config)} />
        </>
      )}
    </div>
  );
}

function Files({ config, slug }: { config: ConnectionConfiguration; slug: string }) {
  const { mqtt_credentials: credentials } = config;
  const text = JSON.stringify(config, undefined, 2);
  const pems =
    'username' in credentials
      ? {}
      : {
          'device.key': credentials.private_key,
          'device.crt': credentials.certificate,
          'ca.crt': credentials.ca_chain,
        };
  return (
    <div class="actions">
      <Button kind="primary" onClick={() => download(`${slug}.json`, text)}>
        {say.everywhere.download}
      </Button>
      <CopyButton text={text} label={say.adding.copyJson} />
      <CopyButton text={encodeScript(JSON.stringify(config))} label={say.adding.copyBase64} />
      {Object.entries(pems).map(([name, content]) => (
        <Button key={name} onClick={() => download(name, content, 'application/x-pem-file')}>
          {name}
        </Button>
      ))}
    </div>
  );
}

/** The package's service reads the file at every start; only root may read it. */
const packagedModule = (slug: string): string =>
  [
    `sudo install -m 600 ${slug}.json /etc/energy-gateway-module/connection.json`,
    'sudo systemctl restart energy-gateway-module',
  ].join('\n');

function mosquittoLine(config: ConnectionConfiguration): string {
  const { mqtt_credentials: credentials, hardware_id: hardwareId, channel_id: channelId } = config;
  const access =
    'username' in credentials
      ? `-u ${credentials.username} -P '${credentials.password}'`
      : '--cafile ca.crt --cert device.crt --key device.key';
  return [
    `mosquitto_pub -h ${config.mqtt_host} -p ${config.mqtt_port} ${access} -q 1`,
    `-t v1/from/${hardwareId}/${channelId}/v3/logs`,
    `-m '{"message": "hello from mosquitto", "severity": "info", "persist": true}'`,
  ].join(' \\\n  ');
}
