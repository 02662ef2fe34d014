/** What a device needs to connect: shown once, so it can be kept in a file. */
import { useState } from 'preact/hooks';
import { Button, Code, CopyButton, download, Fact, Field, Input, Notice } from '../ui.tsx';
import type { ConnectionConfiguration } from '../shapes.ts';

/** What no other machine can reach. */
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
  const text = JSON.stringify(config, undefined, 2);
  const { mqtt_credentials: credentials } = config;
  const isPlain = 'username' in credentials;
  return (
    <div data-test="connection">
      <Notice kind="warning">
        <p>Keep it now: the gateway stores no copy of the secret and cannot show it again.</p>
      </Notice>
      {isLoopback && (
        <Field
          label="Address of this gateway for the device"
          hint="Other machines cannot reach this one by the name that this browser uses. Give its name or address on the network."
        >
          <Input value={host} onValue={setHost} name="reachable_host" required spellcheck={false} />
        </Field>
      )}
      <dl class="facts">
        <Fact name="Address">
          {config.mqtt_protocol === 'MQTTS' ? 'mqtts' : 'mqtt'}://{config.mqtt_host}:{config.mqtt_port}
        </Fact>
        <Fact name="Hardware id">
          <code>{config.hardware_id}</code>
        </Fact>
        {isPlain && (
          <Fact name="Password">
            <code>{credentials.password}</code>
          </Fact>
        )}
      </dl>
      <div class="actions">
        <Button kind="primary" onClick={() => download(`${slug}.json`, text)}>
          Download
        </Button>
        <CopyButton text={text} label="Copy as JSON" />
        <CopyButton text={btoa(JSON.stringify(config))} label="Copy as base64" />
        {!isPlain &&
          Object.entries({
            'device.key': credentials.private_key,
            'device.crt': credentials.certificate,
            'ca.crt': credentials.ca_chain,
          }).map(([name, content]) => (
            <Button key={name} onClick={() => download(name, content, 'application/x-pem-file')}>
              {name}
            </Button>
          ))}
      </div>
      {isModule ? (
        <>
          <h3>Start it on the other board</h3>
          <p class="hint">In the program folder there, with the downloaded file.</p>
          <Code text={`npm run module -- --config ${slug}.json`} />
        </>
      ) : (
        <>
          <h3>Try it with mosquitto</h3>
          <p class="hint">Sends one message as this device; the package is called mosquitto-clients.</p>
          <Code text={mosquittoLine(config)} />
        </>
      )}
    </div>
  );
}

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
