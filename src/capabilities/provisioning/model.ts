/**
 * How devices connect: connection configurations and credentials (docs/interface/http.md#connection-configuration,
 * docs/interface/mqtt-devices.md#credentials).
 */

export const MQTT_PROTOCOLS = ['MQTT', 'MQTTS'] as const;
export type MqttProtocol = (typeof MQTT_PROTOCOLS)[number];

export type MqttCredentials =
  | { username: string; password: string }
  | { privateKey: string; certificate: string; caChain: string };

/** Everything that a device needs to connect. Its secrets are not stored, and shown once. */
export interface ConnectionConfiguration {
  mqttHost: string;
  mqttPort: number;
  mqttProtocol: MqttProtocol;
  mqttCredentials: MqttCredentials;
  timeSyncProtocol: 'HTTP' | 'NTP';
  timeSyncHost: string;
  timeSyncPort: number;
  hardwareId: string;
  channelId: string;
}

/** Makes client certificates; absent while the gateway has no TLS listener. */
export interface CertificateIssuer {
  issueClientCertificate(hardwareId: string): Promise<{
    privateKeyPem: string;
    certificatePem: string;
    serial: string;
    /** SHA-256 of the certificate, lower-case hexadecimal without colons. */
    fingerprint: string;
  }>;
  /** Chain that signed the server's certificate, PEM. */
  readonly caPem: string;
}

/** Addresses of the gateway for clients; ports are known once it listens. */
export interface Addresses {
  /** Name or address for devices, if the operator set one; otherwise the host of the request is used. */
  publicHost: string | undefined;
  mqttPort: () => number | undefined;
  mqttsPort: () => number | undefined;
  httpPort: () => number;
}

export interface ProvisioningEvents {
  /** The credentials of this hardware id are void, and its sessions must end. */
  credentials_revoked: { hardwareId: string };
}
